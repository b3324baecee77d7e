use super::*;

fn version(text: &str) -> KubernetesVersion {
    text.parse().unwrap()
}

#[test]
fn a_leading_v_makes_no_difference() {
    assert_eq!(version("1.36.3"), version("v1.36.3"));
    assert_eq!(version("1.36.3").to_string(), "v1.36.3");
    assert!(version("v1.36.0-rc.1") < version("1.36.0"));
    assert!(version("v1.9.0") < version("v1.31.0"));
}

#[test]
fn a_vendors_build_is_a_version_of_its_own_of_the_same_minor() {
    let vendor = version("1.35.4+vendor.1");
    assert_eq!(vendor.to_string(), "v1.35.4+vendor.1");
    assert_eq!(vendor.minor(), 35);
    assert_ne!(vendor, version("v1.35.4"));
    assert_eq!(check_kubelet(&vendor, &version("v1.35.4")), Ok(()));
}

#[test]
fn only_the_range_of_this_release_is_supported_and_refusals_name_field_value_and_remedy() {
    let field = "spec.versions.kubelet";
    for (text, answer) in [
        ("v1.31.0", "ok"),
        ("1.37.2", "ok"),
        ("v1.37.0-rc.1", "ok"),
        ("v1.35.4+vendor", "ok"),
        (
            "v1.30.2",
            "spec.versions.kubelet is v1.30.2, which is too old; this release of Tatara runs v1.31 to v1.37, so set a version of that range",
        ),
        (
            "1.13.6",
            "spec.versions.kubelet is v1.13.6, which is too old; this release of Tatara runs v1.31 to v1.37, so set a version of that range",
        ),
        (
            "v1.38.0",
            "spec.versions.kubelet is v1.38.0, which is too new; this release of Tatara runs v1.31 to v1.37, so set a version of that range or install a newer Tatara",
        ),
        (
            "2.0.0",
            "spec.versions.kubelet is v2.0.0, which is too new; this release of Tatara runs v1.31 to v1.37, so set a version of that range or install a newer Tatara",
        ),
        (
            "v1.37",
            "spec.versions.kubelet is \"v1.37\", which is not a version; write it in full, such as v1.37.2",
        ),
        (
            "stable",
            "spec.versions.kubelet is \"stable\", which is not a version; write it in full, such as v1.37.2",
        ),
        (
            "",
            "spec.versions.kubelet is \"\", which is not a version; write it in full, such as v1.37.2",
        ),
    ] {
        let got = KubernetesVersion::supported(field, text)
            .map_or_else(|error| error.to_string(), |_| "ok".to_owned());
        assert_eq!(got, answer, "{text}");
    }
}

#[test]
fn a_control_plane_moves_one_minor_up_and_never_back() {
    for (running, wanted, answer) in [
        ("v1.35.4", "v1.35.4", "ok"),
        ("v1.35.4", "v1.35.5", "ok"),
        ("v1.35.4", "v1.36.0", "ok"),
        (
            "v1.35.4",
            "v1.34.9",
            "spec.versions.controlPlane is v1.34.9, but the control plane runs v1.35.4, and a control plane does not go back: its data may have been written anew. Set v1.35.4 or newer",
        ),
        (
            "v1.35.4",
            "v1.35.2",
            "spec.versions.controlPlane is v1.35.2, but the control plane runs v1.35.4, and a control plane does not go back: its data may have been written anew. Set v1.35.4 or newer",
        ),
        (
            "v1.34.1",
            "v1.36.3",
            "spec.versions.controlPlane is v1.36.3, but the control plane runs v1.34.1, and it moves one minor version at a time; set a full version of v1.35 first, such as v1.35.0",
        ),
    ] {
        let got = check_control_plane_step(&version(running), &version(wanted))
            .map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        assert_eq!(got, answer, "{running} to {wanted}");
    }
}

#[test]
fn a_kubelet_is_never_a_minor_ahead_and_at_most_three_behind() {
    for (kubelet, control_plane, answer) in [
        ("v1.36.3", "v1.36.3", "ok"),
        ("v1.36.4", "v1.36.3", "ok"),
        ("v1.33.0", "v1.36.3", "ok"),
        (
            "v1.36.3",
            "v1.35.4",
            "spec.versions.kubelet is v1.36.3, ahead of the control plane at v1.35.4; it waits until spec.versions.controlPlane of the control-plane machines is v1.36 and rolled out",
        ),
        (
            "v1.32.9",
            "v1.36.3",
            "spec.versions.kubelet is v1.32.9, more than 3 minor versions behind the control plane at v1.36.3; set a full version of v1.33 to v1.36",
        ),
    ] {
        let got = check_kubelet(&version(kubelet), &version(control_plane))
            .map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        assert_eq!(got, answer, "{kubelet} under {control_plane}");
    }
}

#[test]
fn a_kubelet_ahead_waits_and_every_other_refusal_needs_a_person() {
    let ahead = check_kubelet(&version("v1.36.0"), &version("v1.35.0")).unwrap_err();
    let behind = check_kubelet(&version("v1.31.0"), &version("v1.35.0")).unwrap_err();
    assert!(ahead.is_wait());
    assert!(!behind.is_wait());
}

#[test]
fn an_upgrade_that_leaves_a_kubelet_behind_names_the_machine() {
    let (old, new) = (version("v1.32.1"), version("v1.35.0"));
    let machines = [("w-0", &new), ("w-1", &old)];
    assert_eq!(check_kubelets_follow(&version("v1.35.1"), machines), Ok(()));
    assert_eq!(
        check_kubelets_follow(&version("v1.36.3"), machines)
            .unwrap_err()
            .to_string(),
        "spec.versions.controlPlane is v1.36.3, but machine w-1 still runs kubelet v1.32.1, and a kubelet may be at most 3 minor versions behind; set spec.versions.kubelet of its Machine to a full version of v1.33 or newer first"
    );
}
