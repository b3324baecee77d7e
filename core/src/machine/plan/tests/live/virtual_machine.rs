use super::super::virtual_machines::{libvirt, placed, shown, silent, told};
use super::*;
use crate::api::Hypervisor;
use crate::api::conditions::ConditionType;
use crate::api::names::ANNOTATION_GIVEN_UP;
use crate::machine::live::virtual_machine::{
    Abandoned, abandon, asked, basis, may_create, may_leave, not_deleted, refused, spec,
};

#[test]
fn a_virtual_machine_is_created_only_where_its_machine_still_belongs() {
    let here = || placed(libvirt(false), "hypervisor-a");
    for (case, observed, may) in [
        ("here", here(), true),
        ("elsewhere", placed(libvirt(false), "hypervisor-b"), false),
        ("nowhere", libvirt(false), false),
        ("leaves", deleted(here(), at(0)), false),
    ] {
        assert_eq!(may_create(&observed.machine, "hypervisor-a"), may, "{case}");
    }
}

#[test]
fn a_place_is_chosen_on_the_spec_the_former_place_and_the_deletion() {
    let plain = libvirt(false);
    let is_same = |other: Observed| basis(&plain.machine) == basis(&other.machine);
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    assert!(is_same(edited(libvirt(false), &label)));
    assert!(!is_same(placed(libvirt(false), "hypervisor-a")));
    assert!(!is_same(deleted(libvirt(false), at(0))));
    let version = json!({ "spec": { "versions": { "kubelet": "v1.37.2" } } });
    assert!(!is_same(edited(libvirt(false), &version)));
}

#[test]
fn a_hypervisor_is_left_only_where_it_shows_no_virtual_machine() {
    assert!(may_leave(None));
    assert!(!may_leave(Some(&shown("stopped", &json!({})))));
}

#[test]
fn a_gateway_is_asked_unless_it_is_known_not_to_answer() {
    let malformed = || {
        let mut observed = silent(libvirt(false));
        let machine = observed.virtual_machine.as_mut().expect("a place");
        machine.told = Err(Why::new(Reason::UnreadableAnswer, "malformed"));
        observed
    };
    let silence = Some((Reason::HypervisorUnreachable, true));
    let unplaced = Some((Reason::HypervisorUnreachable, false));
    for (case, observed, expected) in [
        ("answers", told(libvirt(false), None, None), None),
        ("malformed", malformed(), None),
        ("silent", silent(libvirt(false)), silence),
        ("no place", libvirt(false), unplaced),
    ] {
        let why = asked(&observed).err();
        let why = why.map(|why| (why.reason(), why.message().contains("connection refused")));
        assert_eq!(why, expected, "{case}");
    }
}

#[test]
fn only_a_machine_that_is_to_be_a_virtual_machine_has_its_spec() {
    assert!(spec(&libvirt(false)).is_ok());
    let why = spec(&worker()).expect_err("a Host");
    assert_eq!(why.reason(), Reason::InvalidConfiguration);
}

#[test]
fn what_a_gateway_refuses_comes_with_a_remedy_where_the_spec_is_wrong() {
    let observed = told(libvirt(false), None, None);
    for (reason, has_remedy) in [
        (Reason::InvalidSpec, true),
        (Reason::ImageDiffers, true),
        (Reason::LibvirtUnavailable, false),
    ] {
        let said = refused(&observed, reason, "no");
        let start = "Hypervisor hypervisor-a: no";
        assert!(said.message().starts_with(start), "{}", said.message());
        assert_eq!(said.message() != start, has_remedy, "{reason:?}");
        assert_eq!(said.condition, ConditionType::InfrastructureReady);
    }
    let said = not_deleted(&observed, Reason::LibvirtUnavailable, "no");
    assert_eq!(said.condition, ConditionType::Deleting);
    assert!(said.message().contains(": no. If it is off"), "{said:?}");
}

#[test]
fn a_machine_is_abandoned_once_and_not_where_that_cannot_be_recorded() {
    let hypervisor = |annotation: Option<&str>| -> Hypervisor {
        let annotations = annotation.map(|text| json!({ (ANNOTATION_GIVEN_UP): text }));
        let hypervisor = json!({
            "apiVersion": "tatara.dev/v1alpha1",
            "kind": "Hypervisor",
            "metadata": { "name": "hypervisor-a", "namespace": "default", "annotations": annotations },
            "spec": { "url": "https://192.0.2.2:8443", "credentialsRef": { "name": "gateway" } },
        });
        serde_json::from_value(hypervisor).expect("a Hypervisor")
    };
    let observed = told(libvirt(false), None, None);
    let first = abandon(&observed, &hypervisor(None));
    let Ok(Abandoned::By(text)) = first else {
        panic!("{first:?}");
    };
    assert!(text.contains(ME), "{text}");
    let again = abandon(&observed, &hypervisor(Some(&text)));
    assert_eq!(again, Ok(Abandoned::Recorded));
    let unreadable = abandon(&observed, &hypervisor(Some("no JSON")));
    let why = unreadable.expect_err("it cannot be read");
    assert_eq!(why.reason(), Reason::GivenUpUnreadable);
    let names = (0..crate::api::given_up::MOST).map(|n| (n.to_string(), json!("m")));
    let full = Value::Object(names.collect()).to_string();
    let why = abandon(&observed, &hypervisor(Some(&full))).expect_err("full");
    assert_eq!(why.reason(), Reason::GivenUpFull);
}
