use super::*;

fn list(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

#[test]
fn the_power_action_is_one_that_the_bmc_allows() {
    let cases: [(Wish, &[&str], Result<&str, &str>); 9] = [
        (Wish::On, &["On", "ForceOff"], Ok("On")),
        (Wish::On, &["ForceOn", "ForceOff"], Ok("ForceOn")),
        (Wish::On, &[], Ok("On")),
        (
            Wish::On,
            &["PushPowerButton"],
            Err("allowed are PushPowerButton"),
        ),
        (Wish::ForceOff, &["On", "ForceOff"], Ok("ForceOff")),
        (
            Wish::ForceOff,
            &["On", "GracefulShutdown"],
            Err("none of ForceOff for this system; allowed are On, GracefulShutdown"),
        ),
        (
            Wish::Shutdown,
            &["ForceOff", "GracefulShutdown"],
            Ok("GracefulShutdown"),
        ),
        (Wish::Restart, &["On", "PowerCycle"], Ok("PowerCycle")),
        (
            Wish::Restart,
            &["PowerCycle", "ForceRestart"],
            Ok("ForceRestart"),
        ),
    ];
    for (wish, allowed, expected) in cases {
        match (reset_type(wish, &list(allowed)), expected) {
            (Ok(chosen), Ok(expected)) => assert_eq!(chosen, expected, "{wish} of {allowed:?}"),
            (Err(error), Err(expected)) => {
                let error = error.to_string();
                assert!(error.contains(expected), "{wish} of {allowed:?}: {error}");
            }
            (chosen, expected) => panic!("{wish} of {allowed:?}: {chosen:?}, not {expected:?}"),
        }
    }
}

fn computer(id: &str, uuid: &str, serial: &str) -> Named {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Named {
        path: format!("/redfish/v1/Systems/{id}"),
        id: some(id),
        uuid: some(uuid),
        serial_number: some(serial),
    }
}

/// Systems, which is wanted, and which it is or what is said.
type Case<'a> = (&'a [Named], Option<&'a str>, Result<&'a str, &'a str>);

#[test]
fn the_only_system_needs_no_name_and_one_of_several_does() {
    let (a, b) = (
        computer("1", "AAAA-1", "S1"),
        computer("2", "bbbb-2", "same"),
    );
    let c = computer("3", "", "same");
    let all = [a.clone(), b, c];
    let cases: [Case; 9] = [
        (&[], None, Err("it has no system")),
        (&[a], None, Ok("1")),
        (
            &all,
            None,
            Err("1 (UUID AAAA-1, serial S1); 2 (UUID bbbb-2"),
        ),
        (&all, Some("2"), Ok("2")),
        (&all, Some("aaaa-1"), Ok("1")),
        (&all, Some("s1"), Ok("1")),
        (&all, Some("/redfish/v1/Systems/3"), Ok("3")),
        (&all, Some("same"), Err("\"same\" matches 2 of its systems")),
        (&all, Some("9"), Err("\"9\" matches 0 of its systems")),
    ];
    for (systems, wanted, expected) in cases {
        match (system(systems, wanted), expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found.id.as_deref(), Some(expected), "{wanted:?}");
            }
            (Err(error), Err(expected)) => {
                let error = error.to_string();
                assert!(error.contains(expected), "{wanted:?}: {error}");
            }
            (found, expected) => panic!("{wanted:?}: {found:?}, not {expected:?}"),
        }
    }
}

#[test]
fn the_drive_is_the_first_that_takes_a_cd() {
    let of = |id: &str, types: &[&str]| VirtualMedia {
        id: Some(id.into()),
        media_types: list(types),
        ..VirtualMedia::default()
    };
    let floppy = of("1", &["Floppy", "USBStick"]);
    let dvd = of("2", &["DVD"]);
    let untold = of("Cd", &[]);
    assert!(drive(std::slice::from_ref(&floppy)).is_none());
    let found = |drives: &[VirtualMedia]| drive(drives).and_then(|d| d.id.clone());
    assert_eq!(
        found(&[floppy.clone(), dvd, untold.clone()]).as_deref(),
        Some("2")
    );
    assert_eq!(found(&[floppy, untold]).as_deref(), Some("Cd"));
}
