//! What is stopped on the host of a Machine whose Cluster is deleted.

use super::stage::Stage;
use super::*;

/// The marker on the host.
const OWNER: &str = r#"{"management":"m","namespace":"n","cluster":"c","machine":"w","uid":"u"}"#;

/// Runs the script for this Machine, on a host where each job of it is `is_active`; returns how it ended, and what was stopped.
fn stopped(marker: &Marker, is_active: &str) -> (bool, String) {
    let stage = Stage::new();
    let root = stage.root();
    stage.write("owner.json", OWNER);
    stage.program(
        "systemctl",
        &format!(
            "[[ $1 != is-active ]] || echo {is_active}\n[[ $1 != stop ]] || echo \"$2\" >>{root}/stopped"
        ),
    );
    let script = stop(marker).unwrap();
    let script = script.as_str().replace("/var/lib/tatara", root);
    let output = stage.run(&script);
    (output.status.success(), stage.read("stopped"))
}

fn marker() -> Marker {
    Marker {
        management: "m".into(),
        namespace: "n".into(),
        cluster: "c".into(),
        machine: "w".into(),
        uid: "u".into(),
    }
}

#[test]
fn the_jobs_that_need_a_deleted_cluster_are_stopped_and_no_other() {
    let (ended, stopped_units) = stopped(&marker(), "active");
    assert!(ended, "{stopped_units}");
    let expected = ["init", "join", "address", "upgrade", "kubelet", "addons"];
    let expected = expected.map(|unit| format!("tatara-u-{unit}.service\n"));
    assert_eq!(stopped_units, expected.concat());
    // as often as wanted
    assert_eq!(stopped(&marker(), "inactive"), (true, String::new()));
}

#[test]
fn nothing_is_stopped_on_a_host_whose_marker_names_another_machine_or_cluster() {
    let edits: [fn(&mut Marker); 3] = [
        |marker| marker.uid = "v".into(),
        |marker| marker.management = "other".into(),
        |marker| marker.cluster = "d".into(),
    ];
    for edit in edits {
        let mut other = marker();
        edit(&mut other);
        assert_eq!(
            stopped(&other, "active"),
            (false, String::new()),
            "{other:?}"
        );
    }
}
