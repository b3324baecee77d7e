//! kubeadm's ConfigMaps follow the settings of a Cluster.

use super::*;
use crate::api::names::{ANNOTATION_SETTINGS, ANNOTATION_SETTINGS_KEPT};
use crate::settings::{Settings, digest_of, of_cluster, text};

fn pods(max_pods: u32) -> ClusterProviderSpec {
    let settings = json!({ "kubeletConfiguration": { "maxPods": max_pods } });
    serde_json::from_value(settings).expect("settings")
}

/// A Cluster that runs and says 200, with this record, and what it keeps.
fn edited(recorded: Option<&Settings>, kept: Option<&str>) -> Observed {
    let annotations = json!({ (ANNOTATION_SETTINGS): recorded.map(|recorded| text(recorded, 0)), (ANNOTATION_SETTINGS_KEPT): kept });
    let mut annotations = annotations.as_object().cloned().expect("a map");
    annotations.retain(|_, value| !value.is_null());
    Observed {
        cluster: observed(&json!({ "annotations": annotations })).cluster,
        spec: Ok(pods(200)),
        ..running()
    }
}

#[test]
fn an_edit_is_carried_into_kubeadms_configmaps_while_the_api_serves() {
    let (from, to) = (of_cluster(&pods(110)), of_cluster(&pods(200)));
    let apply = Action::ApplySettings {
        from: vec![from.clone()],
        to: to.clone(),
    };
    let behind = edited(Some(&from), None);
    let says = (
        "SettingsApplied",
        "Applying",
        &["maxPods is 110, wanted 200"][..],
    );
    expect("edited", &behind, &[apply], says);
    let mut silent = behind.clone();
    silent.health = None;
    let waits = (
        "SettingsApplied",
        "Applying",
        &["until the cluster's API serves"][..],
    );
    expect("its API is silent", &silent, &[], waits);
    let moves = Observed {
        moves: Some(Moves {
            what: "Machine cp-0 is updated".into(),
            remedy: ". Help".into(),
            forsaken: None,
        }),
        ..behind.clone()
    };
    let waits = (
        "SettingsApplied",
        "Applying",
        &["until Machine cp-0 is updated, to write", ". Help"][..],
    );
    expect("its versions move", &moves, &[], waits);
    let done = ("SettingsApplied", "Applied", &[][..]);
    expect("done", &edited(Some(&to), None), &[], done);
    for not_ours in [
        Observed {
            external: true,
            ..behind.clone()
        },
        Observed {
            initialized_by: None,
            ..behind
        },
    ] {
        let plan = plan(&not_ours);
        let says = |finding: &Finding| finding.condition == ConditionType::SettingsApplied;
        assert!(!plan.findings.iter().any(says), "{:?}", plan.findings);
    }
}

#[test]
fn what_an_earlier_release_left_is_recorded_and_left() {
    let (from, to) = (of_cluster(&pods(110)), of_cluster(&pods(200)));
    let made_with = |made_with: Option<Settings>| Observed {
        made_with,
        ..edited(None, None)
    };
    let take = |settings: &Settings, kept| Action::RecordSettings {
        settings: settings.clone(),
        kept,
    };
    let ready = ("Ready", "Ready", &[][..]);
    expect("nothing is known", &made_with(None), &[], ready);
    expect(
        "as it says",
        &made_with(Some(to.clone())),
        &[take(&to, None)],
        ready,
    );
    let kept = Some(digest_of(&to));
    expect(
        "it said something else",
        &made_with(Some(from.clone())),
        &[take(&from, kept.clone())],
        ready,
    );
    let left = (
        "SettingsApplied",
        "SettingsDiffer",
        &["tatara.dev/settings-kept-"][..],
    );
    expect("left", &edited(Some(&from), kept.as_deref()), &[], left);
}

#[test]
fn addons_that_no_control_plane_wants_to_follow_are_forgotten_while_the_api_serves() {
    let of = |is_forsaken: bool, change: fn(&mut Observed)| {
        let settings = of_cluster(&pods(200));
        let mut observed = Observed {
            moves: Some(Moves::of_addons("v1.36.3", None, is_forsaken)),
            ..edited(Some(&settings), None)
        };
        change(&mut observed);
        plan(&observed).actions
    };
    let forgets = [Action::ForgetAddons {
        version: "v1.36.3".into(),
    }];
    assert_eq!(of(true, |_| ()), forgets);
    assert_eq!(of(false, |_| ()), [], "one wants it");
    let silent = of(true, |observed| observed.health = None);
    assert_eq!(silent, [], "its record cannot be read");
}

#[test]
fn a_version_that_was_given_up_asks_for_a_person_once_the_record_is_known_to_have_it() {
    for (recorded, is_forsaken, asks) in [
        (Some("v1.36.3"), true, true),
        (Some("v1.36.3"), false, false),
        // what is due is forgotten in this pass, or the record is not read yet
        (Some("v1.35.4"), true, false),
        (None, true, false),
    ] {
        let recorded = recorded.map(|version| version.parse().expect("a version"));
        let moves = Moves::of_addons("v1.36.3", recorded.as_ref(), is_forsaken);
        let says = "set spec.versions of the control plane to v1.36.3 again";
        assert_eq!(moves.remedy.ends_with(says), asks, "{recorded:?}");
        assert_eq!(moves.remedy.is_empty(), !asks, "{recorded:?}");
    }
}
