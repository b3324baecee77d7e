use serde_json::{Value, json};

use super::*;

fn system(value: Value) -> System {
    serde_json::from_value(value).expect("a system, whatever is in it")
}

#[test]
fn a_system_of_which_nothing_is_said_is_decoded() {
    let system = system(json!({}));
    assert_eq!(system.power_state, PowerState::Unknown);
    assert_eq!(
        (system.id, system.uuid, system.serial_number),
        (None, None, None)
    );
    assert!(system.actions.reset.is_none() && system.virtual_media.is_none());
}

#[test]
fn fields_of_the_wrong_type_are_as_if_they_were_missing() {
    let system = system(json!({
        "Id": 1, "UUID": null, "SerialNumber": "  ", "PowerState": 7, "Boot": "Hdd", "Actions": [],
        "VirtualMedia": {"href": "/x"}, "Links": {"ManagedBy": [{"@odata.id": "/m"}, {}, 3]},
    }));
    assert_eq!(system.id.as_deref(), Some("1"));
    assert_eq!(system.uuid, None);
    assert_eq!(system.serial_number, None);
    assert_eq!(system.power_state, PowerState::Unknown);
    assert_eq!(system.boot.target, None);
    assert!(system.actions.reset.is_none() && system.virtual_media.is_none());
    assert_eq!(
        system.links.managed_by,
        [Link { id: "/m".into() }],
        "what can be read is kept"
    );
}

#[test]
fn power_states_are_those_of_the_standard_and_unknown() {
    for (said, state) in [
        ("On", PowerState::On),
        ("Off", PowerState::Off),
        ("PoweringOn", PowerState::PoweringOn),
        ("PoweringOff", PowerState::PoweringOff),
        ("Paused", PowerState::Unknown),
        ("", PowerState::Unknown),
    ] {
        assert_eq!(
            system(json!({ "PowerState": said })).power_state,
            state,
            "{said}"
        );
    }
}

#[test]
fn what_the_reset_action_takes_is_read() {
    let system = system(json!({"Actions": {"#ComputerSystem.Reset": {
        "target": "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
        "ResetType@Redfish.AllowableValues": ["On", 3, "ForceOff"],
    }}}));
    let reset = system.actions.reset.expect("an action");
    assert_eq!(reset.reset_types, ["On", "ForceOff"]);
    assert!(reset.target.is_some_and(|target| target.ends_with("Reset")));
}

#[test]
fn a_service_root_without_links_is_read() {
    let root: ServiceRoot = serde_json::from_value(
        json!({"Systems": {"@odata.id": "/redfish/v1/Systems"}, "Links": null}),
    )
    .expect("a root");
    assert_eq!(root.systems.expect("systems").id, "/redfish/v1/Systems");
    assert!(root.links.sessions.is_none());
}

#[test]
fn texts_and_lists_have_an_end_and_a_path_that_is_too_long_is_none() {
    let long = "x".repeat(1 << 20);
    let link = |path: &str| json!({ "@odata.id": path });
    let system = system(json!({
        "Id": long, "UUID": long, "SerialNumber": long, "VirtualMedia": link(&long),
        "Links": {"ManagedBy": vec![link("/m"); 1000]},
        "Boot": {"BootSourceOverrideTarget@Redfish.AllowableValues": vec![&long; 1000]},
        "Actions": {"#ComputerSystem.Reset": {"target": long}},
    }));
    for text in [&system.id, &system.uuid, &system.serial_number] {
        assert_eq!(text.as_ref().map(String::len), Some(TEXT));
    }
    assert!(system.virtual_media.is_none());
    assert_eq!(system.links.managed_by.len(), ITEMS);
    assert_eq!(system.boot.targets, vec!["x".repeat(TEXT); ITEMS]);
    assert_eq!(system.actions.reset.and_then(|reset| reset.target), None);
    let members = vec![link(&long), link("/a")];
    let all: Collection = serde_json::from_value(json!({ "Members": members })).expect("a list");
    assert_eq!(all.members, [Link { id: "/a".into() }]);
}
