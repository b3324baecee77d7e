use serde_json::json;

use super::*;

const SET: &str = "set";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn machine(name: &str) -> Machine {
    let machine = json!({"metadata": {"name": name, "uid": format!("uid of {name}")}, "spec": {}});
    serde_json::from_value(machine).expect("a Machine")
}

/// The Machines that count if these are listed; the prefix `-` marks one in deletion.
fn count(flight: &mut InFlight, listed: &[&str]) -> Vec<String> {
    let machines = listed.iter().map(|name| Arc::new(machine(name))).collect();
    let counted = flight.settle(SET, machines, |name| listed.contains(&name));
    let sign = |machine: &Machine| match machine.metadata.deletion_timestamp {
        Some(_) => format!("-{}", machine.name_any()),
        None => machine.name_any(),
    };
    counted.iter().map(|machine| sign(machine)).collect()
}

fn look(generation: i64, lists: u64) -> Look {
    Look {
        generation: Some(generation),
        lists,
    }
}

fn knows(flight: &InFlight, set: &str) -> bool {
    flight.knows(set, look(1, 0))
}

#[test]
fn what_was_made_counts_until_it_is_listed_and_then_only_as_long_as_it_is() {
    let mut flight = InFlight::default();
    assert!(!knows(&flight, SET));
    flight.making(SET, machine("a"), at(0));
    assert!(knows(&flight, SET) && !knows(&flight, "other"));
    assert_eq!(count(&mut flight, &["x"]), ["x", "a"]);
    assert_eq!(count(&mut flight, &["x", "a"]), ["x", "a"]);
    assert_eq!(count(&mut flight, &["x"]), ["x"], "it was seen to go");
    assert!(knows(&flight, SET), "which is no reason to list again");
}

#[test]
fn what_was_deleted_is_being_deleted_until_the_list_says_so_or_has_it_no_more() {
    let mut flight = InFlight::default();
    flight.deleting(SET, ("a", "uid of a"), at(0));
    assert_eq!(count(&mut flight, &["a", "b"]), ["-a", "b"]);
    assert_eq!(count(&mut flight, &["b"]), ["b"]);
    assert_eq!(flight.0[SET].deleted.len(), 0, "nothing is kept for ever");
}

#[test]
fn a_deletion_without_an_answer_counts_until_a_live_read_says_that_the_machine_stays() {
    let mut flight = InFlight::default();
    flight.deleting(SET, ("a", "uid of a"), at(0));
    assert_eq!(count(&mut flight, &["a", "b"]), ["-a", "b"]);
    flight.found(SET, machine("a"), at(UNSEEN - 1));
    assert_eq!(count(&mut flight, &["a"]), ["-a"], "it may be on its way");
    assert_eq!(flight.due(SET, at(1000)), Some(at(UNSEEN)));
    assert_eq!(flight.overdue(SET, at(UNSEEN)), ["a".to_owned()].into());
    flight.found(SET, machine("a"), at(UNSEEN));
    assert_eq!(count(&mut flight, &["a"]), ["a"]);

    flight.deleting(SET, ("a", "uid of a"), at(UNSEEN));
    flight.settled(SET, "a");
    assert_eq!(
        count(&mut flight, &["a"]),
        ["-a"],
        "news of it is no answer"
    );
    flight.kept(SET, "uid of a");
    assert_eq!(count(&mut flight, &["a"]), ["a"], "it was refused");

    flight.deleting(SET, ("a", "uid of a"), at(UNSEEN));
    flight.gone(SET, "a", at(2 * UNSEEN));
    assert_eq!(
        (flight.due(SET, at(1000)), count(&mut flight, &["a"])),
        (Some(at(3 * UNSEEN)), vec!["-a".to_owned()])
    );
}

#[test]
fn a_machine_that_was_made_and_deleted_before_it_is_listed_counts_as_leaving() {
    let mut flight = InFlight::default();
    flight.making(SET, machine("a"), at(0));
    flight.deleting(SET, ("a", "uid of a"), at(1));
    assert_eq!(count(&mut flight, &[]), ["-a"]);
}

#[test]
fn an_answer_that_comes_after_the_machine_was_seen_to_go_brings_nothing_back() {
    let mut flight = InFlight::default();
    flight.making(SET, machine("a"), at(0));
    flight.settled(SET, "a");
    flight.found(SET, machine("a"), at(1));
    assert_eq!(count(&mut flight, &[]), [] as [String; 0]);
}

#[test]
fn what_is_not_listed_for_too_long_is_named_and_can_be_forgotten() {
    let mut flight = InFlight::default();
    assert_eq!(flight.due(SET, at(1000)), None);
    flight.making(SET, machine("a"), at(0));
    assert_eq!(flight.due(SET, at(1000)), Some(at(UNSEEN)));
    assert_eq!(flight.overdue(SET, at(UNSEEN - 1)), [].into());
    assert_eq!(flight.overdue(SET, at(UNSEEN)), ["a".to_owned()].into());
    flight.settled(SET, "a");
    assert_eq!(count(&mut flight, &[]), [] as [String; 0]);
    flight.forget(SET);
    assert!(!knows(&flight, SET));
}

#[test]
fn a_set_that_is_shown_from_before_what_was_acted_upon_is_read_live_again() {
    let mut flight = InFlight::default();
    assert!(!flight.knows(SET, look(1, 0)), "nothing was listed");
    flight.listed(SET, &[], at(0));
    assert!(flight.knows(SET, look(1, 0)));
    flight.looked(SET, look(2, 0));
    assert!(!flight.knows(SET, look(1, 0)));
    assert!(flight.knows(SET, look(2, 0)) && flight.knows(SET, look(3, 0)));
    flight.looked(SET, look(1, 0));
    assert!(flight.knows(SET, look(1, 0)), "restored from a backup");
    assert!(!flight.knows(SET, look(1, 1)), "the watch listed anew");
}

#[test]
fn a_machine_that_appears_while_the_others_are_listed_is_counted_once() {
    let mut flight = InFlight::default();
    flight.making(SET, machine("a"), at(0));
    let shown = |_: &str| false;
    let counted = flight.settle(SET, Vec::new(), shown);
    assert_eq!(counted.len(), 1, "the store had it after the list was made");
    let counted = flight.settle(SET, vec![Arc::new(machine("a"))], shown);
    assert_eq!(counted.len(), 1, "the list has it, the look before had not");
    assert!(flight.made(SET).is_empty());
}

#[test]
fn a_clock_that_was_set_back_makes_nothing_wait_longer() {
    let mut flight = InFlight::default();
    flight.making(SET, machine("a"), at(3600));
    flight.deleting(SET, ("b", "uid of b"), at(3600));
    assert_eq!(flight.due(SET, at(0)), Some(at(UNSEEN)));
    assert_eq!(flight.overdue(SET, at(0)).len(), 2);
}

#[test]
fn what_was_made_or_deleted_and_is_another_owners_is_forgotten() {
    let mut flight = InFlight::default();
    flight.making(SET, machine("a"), at(0));
    flight.deleting(SET, ("b", "uid of b"), at(0));
    for name in ["a", "b"] {
        flight.found(SET, machine(name), at(UNSEEN));
    }
    assert_eq!(flight.due(SET, at(UNSEEN)), None);
}
