//! A worker joins with a kubeadm of the minor version that kubeadm has recorded for the cluster.

use super::*;
use crate::kubeadm::KubernetesVersion;

/// What is recorded when the host is prepared, and later.
type Records = (Option<&'static str>, Option<&'static str>);
/// Name; records; the kubeadm on the host; reason and job that follow; parts of the message.
type Case = (
    &'static str,
    Records,
    Option<&'static str>,
    (&'static str, JobKind),
    Parts,
);

fn version(text: &str) -> KubernetesVersion {
    text.parse().expect("a version")
}

/// A worker of kubelet v1.35.4, in a cluster whose API servers run no less than that, beside this
/// record.
fn old_worker(recorded: Option<&str>) -> Observed {
    let versions = json!({ "spec": { "versions": { "kubelet": "v1.35.4" } } });
    with_cluster(edited(worker(), &versions), |cluster| {
        cluster.initialized_by = Some(OTHER.into());
        cluster.version = Some("v1.35.4".into());
        cluster.recorded = recorded.map(version);
    })
}

/// It was prepared beside the first record, and now there is the second; its host has this kubeadm.
fn prepared_beside(
    (then, now): Records,
    installed: Option<&str>,
    more: &[(JobKind, UnitState)],
) -> Observed {
    let mut observed = prepared(old_worker(then), more);
    if let Placement::Held(Infrastructure {
        contact: Contact::Seen(seen),
        ..
    }) = &mut observed.placement
    {
        seen.versions.kubeadm = installed.map(str::to_owned);
    }
    with_cluster(observed, |cluster| cluster.recorded = now.map(version))
}

#[test]
fn a_host_that_was_prepared_with_another_kubeadm_is_prepared_again_before_it_joins() {
    let (old, new) = (Some("v1.35.4"), Some("v1.36.3"));
    let join = ("KubeadmJoin", JobKind::Join);
    let prepare = ("Preparing", JobKind::Prepare);
    let table: [Case; 10] = [
        ("nothing was read", (None, None), old, join, &[]),
        ("the same", (None, old), old, join, &[]),
        (
            "another patch version",
            (None, Some("v1.35.9")),
            old,
            join,
            &[],
        ),
        (
            "another patch version is installed",
            (None, old),
            Some("v1.35.1"),
            join,
            &[],
        ),
        (
            "a newer one",
            (None, new),
            old,
            prepare,
            &[
                "has kubeadm v1.35.4",
                "recorded v1.36.3 for Cluster a",
                "with kubeadm v1.36,",
            ],
        ),
        (
            "a newer one, and no kubeadm is seen",
            (old, new),
            None,
            prepare,
            &["changed"],
        ),
        ("prepared with it", (new, new), new, join, &[]),
        (
            "it was set back",
            (new, old),
            new,
            prepare,
            &["has kubeadm v1.36.3", "recorded v1.35.4"],
        ),
        (
            "a restart, after which it is not read yet",
            (new, None),
            new,
            prepare,
            &["has kubeadm v1.36.3", "with kubeadm v1.35"],
        ),
        (
            "somebody replaced it",
            (None, None),
            Some("v1.34.9"),
            prepare,
            &["has kubeadm v1.34.9", "with kubeadm v1.35"],
        ),
    ];
    for (case, records, installed, (reason, job), parts) in table {
        let plan = plan(&prepared_beside(records, installed, &[]), at(0));
        let says = ("BootstrapReady", reason, parts);
        expect(case, &plan, &[Action::RunJob(job)], says);
    }
}

#[test]
fn what_has_joined_or_joins_is_not_prepared_again() {
    let records = (Some("v1.35.4"), Some("v1.36.3"));
    let join = [Action::RunJob(JobKind::Join)];
    let after = |state| {
        let jobs = [(JobKind::Join, state)];
        prepared_beside(records, Some("v1.35.4"), &jobs)
    };
    let joined = plan(&after(UnitState::Succeeded), at(0));
    expect(
        "joined",
        &joined,
        &[],
        ("NodeHealthy", "WaitingForNode", &[]),
    );
    let says = ("BootstrapReady", "KubeadmJoin", &[][..]);
    let runs = plan(&after(UnitState::Running(step("join"))), at(0));
    expect("joins", &runs, &join, says);
    let mut commands = after(failure("exit 3"));
    if let Placement::Held(Infrastructure {
        contact: Contact::Seen(seen),
        ..
    }) = &mut commands.placement
    {
        seen.owner = Ownership::Owner(Owner {
            marker: commands.marker.clone(),
            initialized: false,
            joined: true,
        });
    }
    let says = ("BootstrapReady", "KubeadmJoinFailed", &[][..]);
    expect("its commands failed", &plan(&commands, at(0)), &join, says);
}

#[test]
fn the_kubeadm_of_a_worker_alone_follows_the_record_and_its_kubelet_does_not() {
    let at_a_host = |mut observed: Observed| {
        observed.placement = held(Contact::NotAsked);
        observed
    };
    let unit = units::prepare(&at_a_host(old_worker(Some("v1.36.3")))).expect("a unit");
    let unit = unit.render().expect("scripts");
    let scripts: String = unit.steps.iter().map(|step| step.script.as_str()).collect();
    let versions = scripts
        .lines()
        .find(|line| line.contains("kubeadm_version="));
    let versions = versions.expect("versions").replace('\'', "");
    assert!(
        versions.contains("kubelet_version=v1.35.4 kubeadm_version=v1.36.3"),
        "{versions}"
    );
    let record = |cluster: &mut ObservedCluster| cluster.recorded = Some(version("v1.35.4"));
    let of_control_plane = units::kubeadm(&at_a_host(with_cluster(control_plane(), record)));
    assert_eq!(of_control_plane, Ok(version("v1.36.3")));
}

#[test]
fn a_worker_waits_while_the_control_plane_moves_to_what_is_recorded() {
    let new = Some("v1.36.3");
    let moving = |observed| {
        with_cluster(observed, |cluster| {
            cluster.peers.versions.behind_record = Some(("cp-1".into(), version("v1.35.4")));
        })
    };
    let updating = |observed| {
        with_cluster(observed, |c| {
            c.peers.versions.updating = Some("cp-1".into());
        })
    };
    let ready = || prepared_beside((new, new), new, &[]);
    let table: [(&str, Observed, Parts); 2] = [
        (
            "replaced",
            moving(ready()),
            &[
                "Machine cp-1 reported v1.35.4 last",
                "recorded v1.36.3",
                "tatara describe machine cp-1",
            ],
        ),
        (
            "in place",
            updating(ready()),
            &["control-plane Machine cp-1 is updated"],
        ),
    ];
    for (case, observed, parts) in table {
        let plan = plan(&observed, at(0));
        expect(case, &plan, &[], ("BootstrapReady", "VersionSkew", parts));
        assert_ne!(plan.next, Next::OnChange, "{case}: nothing would wake it");
    }
    let begun = [(JobKind::Join, UnitState::Running(step("join")))];
    let joins = plan(&moving(prepared_beside((new, new), new, &begun)), at(0));
    let says = ("BootstrapReady", "KubeadmJoin", &[][..]);
    expect("joins", &joins, &[Action::RunJob(JobKind::Join)], says);
}

#[test]
fn a_join_is_refused_by_a_record_of_another_minor_version_than_its_host_is_prepared_for() {
    let differs = |known: Option<&'static str>, now: &str| {
        let observed = prepared_beside((known, known), None, &[]);
        crate::machine::plan::recorded::differs(&observed, &version(now))
    };
    for (known, now, expected) in [
        (None, "v1.35.4", false),
        (None, "v1.35.9", false),
        (None, "v1.36.3", true),
        (None, "v1.34.1", true),
        (Some("v1.36.3"), "v1.36.4", false),
        (Some("v1.36.3"), "v1.35.4", true),
    ] {
        let found = differs(known, now);
        assert_eq!(found.is_some(), expected, "{known:?} {now}: {found:?}");
        assert!(found.is_none_or(|found| found.contains(now)), "{now}");
    }
}
