use serde_json::json;

use super::*;
use crate::api::host::HostFacts;
use crate::control_plane::Member;
use crate::node::{Marker, SoftwareVersions};

const CA: Option<&str> = Some("sha256:ca");

/// A Host of namespace `n`, claimed by Machine `m` of Cluster `a`.
fn host(releasing: bool) -> Host {
    let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": "h", "namespace": "n"},
        "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}},
            "consumerRef": {"name": "w", "uid": "m", "cluster": "a", "releasing": releasing}}});
    serde_json::from_value(host).unwrap()
}

/// An observation with the marker of Machine `m`.
fn seen(initialized: bool, authority: Option<&str>) -> Contact {
    let marker = Marker {
        namespace: "n".into(),
        cluster: "a".into(),
        machine: "w".into(),
        uid: "m".into(),
        ..Marker::default()
    };
    let owner = Owner {
        marker,
        initialized,
        joined: false,
    };
    Contact::Seen(Box::new(Observation {
        clock: 0,
        kubeadm_runs: String::new(),
        facts: HostFacts::default(),
        owner: Ownership::Owner(owner),
        occupied: Vec::new(),
        units: Vec::new(),
        versions: SoftwareVersions::default(),
        kubelet_active: true,
        pods_run: false,
        installation: None,
        authority: authority.map(str::to_owned),
    }))
}

fn unmarked() -> Contact {
    let Contact::Seen(mut seen) = seen(false, None) else {
        panic!("it answers")
    };
    seen.owner = Ownership::Nobody;
    Contact::Seen(seen)
}

/// Cluster `a` with these Machines recorded: on the Cluster, and on its CA Secret.
fn made(by: Option<&str>, by_secret: Option<&str>) -> ControlPlaneOrigin {
    ControlPlaneOrigin {
        namespace: "n".into(),
        name: "a".into(),
        by: by.map(str::to_owned),
        by_secret: by_secret.map(str::to_owned),
        authority: CA.map(str::to_owned),
        ..ControlPlaneOrigin::default()
    }
}

#[test]
fn what_is_recorded_counts_whatever_the_host_says_while_the_cluster_stays() {
    for (case, contact) in [
        ("off, or silent", Contact::Off),
        ("not asked", Contact::NotAsked),
        ("without its marker", unmarked()),
        ("its marker", seen(true, CA)),
    ] {
        for (what, record, expected) in [
            ("by both", made(Some("m"), Some("m")), true),
            ("by the Cluster", made(Some("m"), None), true),
            ("by the Secret", made(None, Some("m")), true),
            ("by the Secret against it", made(Some("x"), Some("m")), true),
        ] {
            for has_machine in [true, false] {
                let is = guards(
                    &host(true),
                    &contact,
                    has_machine,
                    std::slice::from_ref(&record),
                );
                assert_eq!(is.is_some(), expected, "{case}, {what}");
            }
            let deleted = ControlPlaneOrigin {
                is_deleting: true,
                ..record
            };
            assert_eq!(guards(&host(true), &contact, true, &[deleted]), None);
        }
        assert_eq!(guards(&host(true), &contact, true, &[]), None, "{case}");
    }
    let renamed = ControlPlaneOrigin {
        name: "b".into(),
        ..made(Some("m"), None)
    };
    let is = guards(
        &host(true),
        &Contact::Off,
        true,
        &[made(None, None), renamed],
    );
    assert_eq!(is.as_deref(), Some("b"), "whatever the claim says");
}

#[test]
fn a_silent_host_of_which_nothing_is_recorded_has_none_that_could_keep_it_from_being_fenced() {
    for record in [made(None, None), made(Some("x"), Some("x"))] {
        let is = guards(&host(true), &Contact::Off, true, &[record]);
        assert_eq!(is, None, "as while kubeadm init runs");
    }
}

#[test]
fn by_its_marker_a_host_has_a_control_plane_whoever_is_recorded_if_it_has_the_key_of_the_ca() {
    let unread = |record: ControlPlaneOrigin| ControlPlaneOrigin {
        authority: None,
        ..record
    };
    for (case, contact, record, expected) in [
        ("not recorded", seen(true, CA), made(None, None), true),
        ("before init", seen(false, CA), made(None, None), false),
        (
            "another is",
            seen(true, CA),
            made(Some("x"), Some("x")),
            true,
        ),
        (
            "another is, and the key is not there",
            seen(true, None),
            made(Some("x"), Some("x")),
            false,
        ),
        (
            "another is, of a Cluster with another CA",
            seen(true, Some("sha256:old")),
            made(Some("x"), Some("x")),
            false,
        ),
        (
            "another is, and whose the key is nobody can tell",
            seen(true, CA),
            unread(made(Some("x"), None)),
            true,
        ),
        (
            "of another Cluster",
            seen(true, CA),
            ControlPlaneOrigin {
                name: "b".into(),
                ..made(None, None)
            },
            false,
        ),
        (
            "of another namespace",
            seen(true, CA),
            ControlPlaneOrigin {
                namespace: "o".into(),
                ..made(None, None)
            },
            false,
        ),
    ] {
        let is = guards(&host(true), &contact, true, &[record]);
        assert_eq!(is.is_some(), expected, "{case}");
    }
}

#[test]
fn what_a_machine_let_go_of_that_is_gone_is_a_clusters_only_where_it_is_recorded() {
    for (case, record, releasing, expected) in [
        ("made again", made(None, None), true, false),
        ("made again, by another", made(Some("x"), None), true, false),
        ("recorded", made(Some("m"), None), true, true),
        ("not let go", made(None, None), false, true),
    ] {
        let is = guards(&host(releasing), &seen(true, CA), false, &[record]);
        assert_eq!(is.is_some(), expected, "{case}");
    }
    assert!(was_let_go(&host(true), "m"), "it is not recorded anew");
    assert!(!was_let_go(&host(true), "x") && !was_let_go(&host(false), "m"));
}

#[test]
fn a_host_that_says_nothing_may_have_the_control_plane_of_a_cluster_that_has_none_yet() {
    let external = ControlPlaneOrigin {
        is_external: true,
        ..made(None, None)
    };
    let deleted = ControlPlaneOrigin {
        is_deleting: true,
        ..made(None, None)
    };
    for (case, contact, clusters, expected) in [
        ("off", Contact::Off, vec![made(None, None)], true),
        ("read", seen(false, CA), vec![made(None, None)], false),
        ("no marker", unmarked(), vec![made(None, None)], false),
        ("has one", Contact::Off, vec![made(Some("x"), None)], false),
        ("has one", Contact::Off, vec![made(None, Some("x"))], false),
        ("is somebody's", Contact::Off, vec![external], false),
        ("is deleted", Contact::Off, vec![deleted], false),
        ("is gone", Contact::Off, vec![], false),
    ] {
        let may = may_have(&host(true), &contact, &clusters);
        assert_eq!(may.is_some(), expected, "{case}");
    }
}

#[test]
fn a_list_of_etcd_members_decides_over_the_records() {
    let members = |name: &str, address: &str| {
        let member = Member {
            name: name.into(),
            peer_urls: vec![format!("https://{address}:2380")],
            ..Member::default()
        };
        Some(Arc::new(Members {
            list: vec![member],
            ..Members::default()
        }))
    };
    let of = |by: Option<&str>, members| ControlPlaneOrigin {
        members,
        ..made(by, by)
    };
    let here = members("node", "192.0.2.10");
    // its address was edited
    let by_name = members("h", "192.0.2.12");
    let elsewhere = members("other", "192.0.2.11");
    let cases = [
        ("the first, and a member", Some("m"), here.clone(), true),
        ("the first, by its name", Some("m"), by_name, true),
        ("the first, which left", Some("m"), elsewhere.clone(), false),
        ("the first, and no list", Some("m"), None, true),
        ("a later member", Some("other"), here, true),
        ("a later one, which left", Some("other"), elsewhere, false),
    ];
    for (case, by, members, expected) in cases {
        let found = guards(&host(true), &seen(false, CA), true, &[of(by, members)]);
        assert_eq!(found.is_some(), expected, "{case}");
    }
}

#[test]
fn a_host_without_the_key_may_be_one_of_a_control_plane_unless_its_machine_is_a_worker() {
    let table = [
        ("a control plane", Some(true), seen(false, CA), true),
        (
            "its key was taken away",
            Some(true),
            seen(false, None),
            true,
        ),
        (
            "the same, and its Machine is gone",
            None,
            seen(false, None),
            true,
        ),
        ("a worker", Some(false), seen(false, None), false),
        ("a worker with the key", Some(false), seen(false, CA), true),
        (
            "not seen, and its Machine is gone",
            None,
            Contact::NotAsked,
            true,
        ),
        (
            "a worker that was not seen",
            Some(false),
            Contact::NotAsked,
            false,
        ),
    ];
    for (case, kind, contact, expected) in table {
        assert_eq!(may_be_of_control_plane(kind, &contact), expected, "{case}");
    }
}

#[test]
fn records_and_members_are_read_of_the_cluster_of_the_claim_while_that_stays() {
    let claimed = host(true);
    let claim = claimed.spec.consumer_ref.as_ref().unwrap();
    let own = made(None, None);
    assert!(own.may_be_of(claim));
    let another = ControlPlaneOrigin {
        name: "b".into(),
        ..own.clone()
    };
    assert!(!another.may_be_of(claim));
    let goes = ControlPlaneOrigin {
        is_deleting: true,
        ..own.clone()
    };
    assert!(!goes.may_be_of(claim));
    for (by, by_secret, expected) in [
        (None, None, false),
        (Some("m"), None, true),
        (None, Some("m"), true),
    ] {
        assert_eq!(
            made(by, by_secret).is_made(),
            expected,
            "{by:?} {by_secret:?}"
        );
    }
}
