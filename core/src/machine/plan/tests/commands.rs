//! Commands after kubeadm: the Node is there before they have ended.

use super::*;
use crate::api::conditions::Reason;

const FAILS: &str = "error: command 1 of postKubeadmCommands ended with exit code 3";

/// The Machine has a command to run after kubeadm.
fn with_command(mut observed: Observed) -> Observed {
    let value = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "SSHMachineProviderSpec",
        "node": { "postKubeadmCommands": ["exit 3"] },
    });
    observed.spec = Ok(MachineProviderSpec::decode(&value).expect("a provider spec"));
    observed
}

fn failed_in(step: &str) -> UnitState {
    UnitState::Failed(Failure {
        attempt: 0,
        since: None,
        causes: Vec::new(),
        at: Progress {
            step: step.into(),
            index: 3,
            total: 3,
        },
        exit_code: 1,
        findings: Vec::new(),
        output: FAILS.into(),
    })
}

/// The Node is there, and the host says this of its unit; `marked`: kubeadm succeeded.
fn beside_node(observed: Observed, name: JobKind, state: UnitState, marked: bool) -> Observed {
    let mut seen = prepared(observed, &[(name, state)]);
    let owner = Ownership::Owner(Owner {
        marker: seen.marker.clone(),
        initialized: marked && name == JobKind::Init,
        joined: marked && name == JobKind::Join,
    });
    let Placement::Held(Infrastructure {
        contact: Contact::Seen(said),
        ..
    }) = &mut seen.placement
    else {
        panic!("a host")
    };
    said.owner = owner;
    let placement = seen.placement.clone();
    let mut observed = running(seen);
    observed.placement = placement;
    observed
}

fn joined(state: UnitState) -> Observed {
    beside_node(with_command(worker()), JobKind::Join, state, true)
}

#[test]
fn a_command_that_failed_is_said_beside_the_node_and_tried_again_later_each_time() {
    let join = [Action::RunJob(JobKind::Join)];
    let says = (
        "BootstrapReady",
        "PostKubeadmCommandsFailed",
        &["3/3 post-kubeadm failed", FAILS][..],
    );
    let failed = plan(&joined(failed_in("post-kubeadm")), at(0));
    expect("failed", &failed, &join, says);
    assert_eq!(
        finding(&failed, "Ready").reason(),
        "PostKubeadmCommandsFailed"
    );
    assert_eq!(finding(&failed, "Ready").status, Status::False);
    assert_eq!(finding(&failed, "NodeHealthy").status, Status::True);

    let mut again = joined(failed_in("post-kubeadm"));
    let mut attempts = Attempts {
        since: None,
        failed: 3,
        last: Some(at(0)),
        error: None,
    };
    again.attempts = [(JobKind::Join, attempts.clone())].into();
    let waits = plan(&again, at(0));
    expect("waits", &waits, &[], says);
    assert_ne!(waits.next, Next::OnChange, "nothing would wake it");
    expect("waited", &plan(&again, at(61)), &join, says);
    attempts.at_once();
    again.attempts = [(JobKind::Join, attempts)].into();
    expect("asked for", &plan(&again, at(0)), &join, says);
}

#[test]
fn a_machine_with_commands_is_bootstrapped_once_they_have_succeeded() {
    let mut follows = joined(UnitState::Running(step("post-kubeadm")));
    follows.placement = held(Contact::NotAsked);
    follows.follow = Some(crate::node::Follow {
        retried: None,
        job: Job::new(JobKind::Join, "m"),
        progress: Some(step("post-kubeadm")),
        since: at(0),
    });
    let says = ("BootstrapReady", "KubeadmJoin", &["2/9 post-kubeadm"][..]);
    expect("followed", &plan(&follows, at(0)), &[], says);

    let says = ("BootstrapReady", "Bootstrapped", &[][..]);
    let done = plan(&joined(UnitState::Succeeded), at(0));
    expect("succeeded", &done, &[], says);
    assert_eq!(finding(&done, "Ready").status, Status::True);

    // what was said once stays, also of a host that is not asked any more
    let condition = json!({ "type": "BootstrapReady", "status": "True", "reason": "Bootstrapped", "message": "",
        "lastTransitionTime": "2027-01-15T08:00:00Z" });
    let status = json!({ "status": { "conditions": [condition] } });
    let mut known = edited(joined(failed_in("post-kubeadm")), &status);
    assert!(!known.awaits_commands());
    known.placement = held(Contact::NotAsked);
    expect("said before", &plan(&known, at(0)), &[], says);
}

#[test]
fn whether_commands_succeeded_is_not_guessed_of_a_host_that_does_not_answer() {
    let mut silent = joined(UnitState::Succeeded);
    silent.placement = held(Contact::Unreachable {
        reason: Reason::SshUnreachable,
        message: "no answer at 192.0.2.11".into(),
    });
    let plan = plan(&silent, at(0));
    let says = ("BootstrapReady", "SshUnreachable", &["no answer"][..]);
    expect("silent", &plan, &[], says);
    assert_eq!(finding(&plan, "BootstrapReady").status, Status::Unknown);
    assert_ne!(plan.next, Next::OnChange);
}

/// The turn is given back when the control plane is recorded; what is run again is no init.
#[test]
fn the_commands_of_a_control_plane_are_tried_again_before_and_after_its_node_is_seen() {
    let init = [Action::RunJob(JobKind::Init)];
    let says = ("BootstrapReady", "PostKubeadmCommandsFailed", &[FAILS][..]);
    let failed = || {
        let failed = failed_in("post-kubeadm");
        let observed = beside_node(with_command(control_plane()), JobKind::Init, failed, true);
        with_cluster(observed, |cluster| cluster.initialized_by = Some(ME.into()))
    };
    expect("node there", &plan(&failed(), at(0)), &init, says);
    let mut early = failed();
    early.node = Lookup::Known(None);
    expect("no node yet", &plan(&early, at(0)), &init, says);
}

/// Its etcd member serves: it is not taken for one that an attempt to join left.
#[test]
fn the_commands_of_one_that_has_joined_are_tried_again_and_its_member_stays() {
    let join = [Action::RunJob(JobKind::Join)];
    let says = ("BootstrapReady", "PostKubeadmCommandsFailed", &[FAILS][..]);
    let failed = failed_in("post-kubeadm");
    let joined = beside_node(with_command(control_plane()), JobKind::Join, failed, true);
    let mut early = members::of_two(joined);
    early.node = Lookup::Known(None);
    expect("no node yet", &plan(&early, at(0)), &join, says);
}

/// kubeadm would first undo what it finds.
#[test]
fn a_kubeadm_that_failed_is_not_run_again_under_a_node_that_is_there() {
    let observed = beside_node(
        with_command(worker()),
        JobKind::Join,
        failed_in("join"),
        false,
    );
    let says = ("BootstrapReady", "Bootstrapped", &[][..]);
    expect("node there", &plan(&observed, at(0)), &[], says);
}
