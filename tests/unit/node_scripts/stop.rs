//! What is stopped on the host of a Machine whose Cluster is deleted.

use super::*;

/// The marker on the host.
const OWNER: &str = r#"{"management":"m","namespace":"n","cluster":"c","machine":"w","uid":"u"}"#;

/// Runs the script for this Machine, on a host where each job of it is `is_active`; returns how it ended, and what was stopped.
fn stopped(marker: &Marker, is_active: &str) -> (bool, String) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    std::fs::create_dir_all(folder.path().join("bin")).unwrap();
    std::fs::write(folder.path().join("owner.json"), OWNER).unwrap();
    let path = folder.path().join("bin/systemctl");
    let systemctl = format!(
        "#!/bin/bash\n[[ $1 != is-active ]] || echo {is_active}\n[[ $1 != stop ]] || echo \"$2\" >>{root}/stopped\n"
    );
    std::fs::write(&path, systemctl).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = stop(marker).unwrap();
    let script = script.as_str().replace("/var/lib/tatara", root);
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .args(["-c", &script])
        .env("PATH", format!("{root}/bin:{path}"))
        .output()
        .unwrap();
    let stopped = std::fs::read_to_string(folder.path().join("stopped")).unwrap_or_default();
    (output.status.success(), stopped)
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
