//! On whose host the unit of a Machine is started.

use super::stage::Stage;
use super::*;

/// Starts a unit of the Machine `u` of management cluster `m` on a host with this marker; returns what the script said, and
/// what it left there.
fn started(owner: Option<&str>) -> (String, [bool; 3]) {
    started_after(owner, None)
}

/// The same, where the leader of this epoch has looked.
fn started_after(owner: Option<&str>, looked: Option<&str>) -> (String, [bool; 3]) {
    let stage = Stage::new();
    let root = stage.root();
    if let Some(epoch) = looked {
        stage.write("secrets-looked", &format!("{epoch}\n"));
    }
    if let Some(owner) = owner {
        stage.write("tatara/owner.json", owner);
    }
    stage.program("systemctl", "[[ $1 != is-active ]] || echo inactive");
    stage.program("systemd-run", &format!("touch {root}/ran"));
    let marker = Marker {
        management: "m".into(),
        uid: "u".into(),
        ..Marker::default()
    };
    let unit = join(bootstrap(&[])).render().unwrap();
    let script = start_and_follow(&marker, &unit, EPOCH, tatara::clock::now()).unwrap();
    let script = script.as_str();
    let script = script.replace("/var/lib/tatara", &format!("{root}/tatara"));
    let output = stage.run(&script.replace("/run/tatara", &format!("{root}/secrets")));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let left = ["tatara/machines", "secrets", "ran"];
    let left = left.map(|path| Path::new(root).join(path).exists());
    (String::from_utf8_lossy(&output.stdout).into_owned(), left)
}

#[test]
fn a_unit_is_started_on_a_host_whose_marker_names_its_machine_and_on_no_other() {
    let own = r#"{"management":"m","namespace":"n","cluster":"c","machine":"w","uid":"u"}"#;
    let (said, left) = started(Some(own));
    assert!(said.contains(r#"{"ended":"#), "{said}");
    assert_eq!(left, [true; 3], "{said}");
    let (said, left) = started(None);
    assert_eq!(said, "{\"refused\":{\"owner\":null}}\n");
    assert_eq!(left, [false; 3]);
    for (field, other) in [
        (r#""uid":"u""#, r#""uid":"v""#),
        (r#""management":"m""#, r#""management":"other""#),
        (r#""uid":"u""#, r#""uid":"""#),
        (own, "{"),
    ] {
        let (said, left) = started(Some(&own.replace(field, other)));
        assert!(said.starts_with(r#"{"refused":{"owner":""#), "{said}");
        assert_eq!(left, [false; 3], "{other}: {said}");
    }
}

#[test]
fn a_unit_that_a_former_leader_sent_is_not_started_once_a_later_one_has_looked() {
    let own = r#"{"management":"m","namespace":"n","cluster":"c","machine":"w","uid":"u"}"#;
    for looked in ["1", "2", "", "no number"] {
        let (said, left) = started_after(Some(own), Some(looked));
        assert!(said.contains(r#"{"ended":"#), "{looked}: {said}");
        assert_eq!(left, [true; 3], "{looked}: {said}");
    }
    let (said, left) = started_after(Some(own), Some("3"));
    assert_eq!(said, "{\"superseded\":{}}\n");
    assert_eq!(left, [true, false, false], "{said}");
}
