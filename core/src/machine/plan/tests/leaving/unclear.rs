//! What is not known yet after a restart, or is contradictory, keeps a Machine that is deleted.

use super::*;

#[test]
fn a_machine_whose_cluster_or_node_is_not_known_yet_is_not_deleted() {
    let leaving = || deleted(running(worker()), at(0));
    assert_ne!(plan(&leaving(), at(1)).actions, [], "clear");
    let mut whose = leaving();
    whose.whose = Some("Clusters a and b".into());
    let says = ("Deleting", "ClusterInDoubt", &["Clusters a and b"][..]);
    expect("two", &plan(&whose, at(1)), &[], says);
    let mut young = leaving();
    young.node = Lookup::NotYet("not connected yet".into());
    let says = ("Deleting", "WaitingForApi", &["not connected yet"][..]);
    expect("young", &plan(&young, at(1)), &[], says);
}

#[test]
fn a_host_that_is_kept_and_still_runs_is_told_with_what_shows_it() {
    let kept = |contact| {
        let mut observed = deleted(running(worker()), at(0));
        let Placement::Held(held) = &mut observed.placement else {
            panic!("a host")
        };
        (held.releasing, held.stuck) = (true, Some(Stuck::Retained));
        held.contact = contact;
        plan(&observed, at(0))
    };
    let seen = |owner, runs| {
        says(Observation {
            owner,
            pods_run: runs,
            ..unmarked(Vec::new())
        })
    };
    let silent = Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message: "no route".into(),
    };
    for (contact, part) in [
        (seen(own(&worker()), true), "pgrep -af 'containerd-shim"),
        (seen(Ownership::Nobody, false), "not that of this Machine"),
        (silent, "are stopped: no route"),
        (
            Contact::NotAsked,
            "host-a is kept (spec.wipePolicy: retain), but has not told yet",
        ),
    ] {
        let parts = [part, "asked again every 10 s"];
        let says = ("Deleting", "WaitingForHost", &parts[..]);
        expect(part, &kept(contact), &[], says);
    }
    let ends = kept(seen(own(&worker()), false));
    assert_eq!(finding(&ends, "Deleting").reason(), Reason::HostRetained);
}
