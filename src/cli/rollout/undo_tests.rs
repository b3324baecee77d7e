use super::*;

fn set(number: i64, kubelet: &str, restarted: Option<&str>) -> MachineSet {
    let annotations = json!({
        "machinedeployment.clusters.k8s.io/revision": number.to_string(),
        "tatara.dev/restarted-at": restarted,
    });
    let mut value = json!({
        "metadata": { "name": format!("md-{number}"), "annotations": annotations },
        "spec": { "selector": {}, "template": { "spec": {
            "versions": { "kubelet": kubelet }, "providerSpec": { "value": { "a": 1, "b": 2 } } } } },
    });
    if restarted.is_none() {
        value["metadata"]["annotations"]
            .as_object_mut()
            .expect("annotations")
            .remove("tatara.dev/restarted-at");
    }
    serde_json::from_value(value).expect("a MachineSet")
}

#[test]
fn it_goes_back_to_the_newest_other_template() {
    let of = Name {
        namespace: "n".into(),
        name: "md".into(),
    };
    let sets = [
        set(1, "v1.35.4", None),
        set(2, "v1.36.3", None),
        set(3, "v1.36.3", Some("t")),
    ];
    let unusable = set(9, "v1.39.0", None);
    let goes_to = |present: Option<&MachineSet>, to: Option<i64>| {
        let present = present.map(revision_of);
        target(&of, &sets, present.as_ref(), (to, None))
            .map(revision)
            .ok()
    };
    for (case, present, to, expected) in [
        ("restarted since", Some(&sets[2]), None, Some(1)),
        ("as before", Some(&sets[1]), None, Some(1)),
        ("nothing can be made of it", Some(&unusable), None, Some(3)),
        ("its class is missing", None, None, Some(3)),
        ("the first", Some(&sets[0]), None, Some(3)),
        ("a number", Some(&sets[2]), Some(2), Some(2)),
        ("no such number", Some(&sets[2]), Some(7), None),
    ] {
        assert_eq!(goes_to(present, to), expected, "{case}");
    }
}

#[test]
fn a_control_plane_goes_back_to_no_version_that_is_older_than_one_that_ran() {
    let of = Name {
        namespace: "n".into(),
        name: "md".into(),
    };
    // of each revision its version, if it has control planes, and how many of them are available
    let sets = |versions: &[(Option<&str>, i32)]| -> Vec<MachineSet> {
        let numbered = (1..).zip(versions);
        let made = numbered.map(|(number, (version, available))| {
            let mut set = set(number, "v1.35.0", None);
            let versions = set.spec.template.spec.versions.get_or_insert_default();
            versions.control_plane = version.map(str::to_owned);
            set.status.get_or_insert_default().available_replicas = *available;
            set
        });
        made.collect()
    };
    // as `undo` does: the revision that it goes to, or why it does not
    let undone = |sets: &[MachineSet], to: Option<i64>| {
        let present = sets.last().map(revision_of);
        let ran = ran(sets, &[]);
        let set = target(&of, sets, present.as_ref(), (to, ran.as_ref()))?;
        must_not_go_back(&of, ran.as_ref(), set).map(|()| revision(set))
    };
    let (older, newer, patch) = (Some("v1.35.4"), Some("v1.36.3"), Some("v1.36.2"));
    for (case, versions, to, expected) in [
        ("workers", vec![(None, 1), (None, 2)], Some(1), Ok(1)),
        (
            "it runs",
            vec![(older, 0), (newer, 3)],
            Some(1),
            Err("v1.35.4"),
        ),
        (
            "the newest other",
            vec![(older, 0), (newer, 3)],
            None,
            Err("v1.35.4"),
        ),
        (
            "in mid-roll",
            vec![(older, 2), (newer, 1)],
            None,
            Err("v1.35.4"),
        ),
        (
            "a patch version",
            vec![(patch, 0), (newer, 3)],
            None,
            Err("v1.36.2"),
        ),
        (
            "it never came up",
            vec![(older, 3), (newer, 0)],
            None,
            Ok(1),
        ),
        (
            "the same version",
            vec![(newer, 0), (newer, 3)],
            Some(1),
            Ok(1),
        ),
        (
            "a newer one that never came up",
            vec![(newer, 0), (older, 3)],
            None,
            Ok(1),
        ),
        // the last revision that may run, not the last one
        (
            "past one that may not",
            vec![(newer, 3), (older, 0), (Some("v1.37.0"), 0)],
            None,
            Ok(1),
        ),
    ] {
        let undone = match undone(&sets(&versions), to) {
            Ok(revision) => Ok(revision),
            Err(Error::Downgrade { old, .. }) => Err(old),
            Err(other) => panic!("{case}: {other}"),
        };
        assert_eq!(undone, expected.map_err(str::to_owned), "{case}");
    }
    let sets = sets(&[(older, 0), (newer, 3)]);
    let newest = ran(&sets, &[]);
    let refused = must_not_go_back(&of, newest.as_ref(), &sets[0]).expect_err("a downgrade");
    let said = "revision 1 of MachineDeployment n/md has versions.controlPlane v1.35.4, and a later one had v1.36.3";
    assert!(refused.to_string().starts_with(said), "{refused}");
}

/// A control plane of a Cluster, and the version that its Machine runs by now.
fn runs_now(version: &str) -> Machine {
    let machine = json!({ "metadata": { "name": "cp-0" }, "spec": {},
        "status": { "versions": { "kubelet": "v1.35.4", "controlPlane": version } } });
    serde_json::from_value(machine).expect("a Machine")
}

#[test]
fn a_control_plane_in_the_middle_of_its_update_counts_for_what_it_runs() {
    let mut old = set(1, "v1.35.4", None);
    let versions = old.spec.template.spec.versions.get_or_insert_default();
    versions.control_plane = Some("v1.35.4".into());
    // its set counts it again when its Node has the kubelet too
    let sets = [old];
    let refused = |machines: &[Machine]| {
        let of = Name {
            namespace: "n".into(),
            name: "md".into(),
        };
        must_not_go_back(&of, ran(&sets, machines).as_ref(), &sets[0]).is_err()
    };
    assert!(refused(&[runs_now("v1.35.4"), runs_now("v1.36.3")]));
    assert!(!refused(&[runs_now("v1.35.4")]));
}

#[test]
fn what_a_manager_would_refuse_is_refused_before_anything_is_written() {
    let spec = || json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec" });
    let deployment = |strategy: &str, versions: Value, spec: Value| -> MachineDeployment {
        let value = json!({ "metadata": { "name": "md" }, "spec": { "selector": {},
            "strategy": { "type": strategy },
            "template": { "spec": { "versions": versions, "providerSpec": { "value": spec } } } } });
        serde_json::from_value(value).expect("a MachineDeployment")
    };
    let network = json!({ "services": { "cidrBlocks": [] }, "pods": { "cidrBlocks": [] }, "serviceDomain": "a.local" });
    let cluster: Cluster = serde_json::from_value(
        json!({ "metadata": { "name": "a" }, "spec": { "clusterNetwork": network },
        "status": { "version": "v1.36.3" } }),
    )
    .expect("a Cluster");
    let around = Around {
        cluster: Some(cluster),
        control_planes: vec![runs_now("v1.36.3")],
    };
    let mut present = set(2, "v1.36.3", None);
    present.spec.template.spec.provider_spec.value = Some(spec());
    present.status.get_or_insert_default().replicas = 3;
    let other = {
        let mut other = spec();
        other["hostSelector"] = json!({ "matchLabels": { "rack": "b" } });
        other
    };
    let typo = {
        let mut typo = spec();
        typo["hostselector"] = json!({});
        typo
    };
    let worker = |version: &str| json!({ "kubelet": version });
    let plane = |version: &str| json!({ "kubelet": version, "controlPlane": version });
    let roll = "RollingUpdate";
    for (case, deployment, says) in [
        (
            "a worker",
            deployment(roll, worker("v1.35.4"), spec()),
            None,
        ),
        (
            "ahead for a while",
            deployment(roll, worker("v1.37.0"), spec()),
            None,
        ),
        (
            "too old",
            deployment(roll, worker("v1.20.0"), spec()),
            Some("too old"),
        ),
        (
            "left behind",
            deployment(roll, worker("v1.32.0"), spec()),
            Some("minor versions behind"),
        ),
        (
            "back",
            deployment(roll, plane("v1.35.4"), spec()),
            Some("does not go back"),
        ),
        (
            "a field",
            deployment(roll, worker("v1.36.3"), typo),
            Some("hostselector"),
        ),
        (
            "another place",
            deployment(roll, worker("v1.36.3"), other.clone()),
            None,
        ),
        (
            "in place",
            deployment("InPlace", worker("v1.36.3"), other),
            Some("hostSelector"),
        ),
    ] {
        let template = &deployment.spec.template.spec;
        let value = template.provider_spec.value.as_ref().expect("a value");
        let wanted = Revision::new(template.versions.as_ref(), value);
        let sets = [present.clone()];
        let said = refusal(&deployment, &wanted, &sets, &around);
        match says {
            None => assert_eq!(said, None, "{case}"),
            Some(says) => {
                let said = said.unwrap_or_default();
                assert!(said.contains(says), "{case}: {said}");
            }
        }
    }
}

#[test]
fn only_what_is_of_a_revision_is_written_and_what_it_did_not_have_is_removed() {
    let value = json!({
        "metadata": { "name": "md", "resourceVersion": "7" },
        "spec": { "selector": {}, "template": {
            "metadata": { "labels": { "x": "y" }, "annotations": { "tatara.dev/restarted-at": "t" } },
            "spec": { "versions": { "kubelet": "v1.36.3" }, "providerSpec": { "value": { "a": 1, "c": 3 } } } } },
    });
    let deployment: MachineDeployment = serde_json::from_value(value).expect("it");
    let spec = json!({ "value": { "b": 2, "c": null } });
    let expected = |spec: Value| {
        json!({
            "metadata": { "resourceVersion": "7" },
            "spec": { "template": {
                "metadata": { "annotations": { "tatara.dev/restarted-at": null } }, "spec": spec } },
        })
    };
    let old = set(1, "v1.35.4", None);
    let versions = json!({ "kubelet": "v1.35.4" });
    assert_eq!(
        change(&deployment, &old, false),
        expected(json!({ "versions": versions, "providerSpec": spec }))
    );
    assert_eq!(
        change(&deployment, &old, true),
        expected(json!({ "versions": versions }))
    );
}
