//! What people see of each kind: what it is part of, what is below it, its conditions and Events,
//! how to go on.

use insta::assert_snapshot;
use k8s_openapi::jiff::SignedDuration;
use kube::ResourceExt;
use kube::runtime::watcher::Event;
use serde_json::json;

use super::fixture::{Fixture, ago, bootstrapping, condition, ready, rolling};
use super::{UTF8, now, shown};
use crate::cli::describe::details::details;
use crate::cli::describe::events::Occurrence;
use crate::cli::describe::kind::Kind;
use crate::cli::describe::onward::commands;
use tatara_core::api::names::{
    ANNOTATION_HOST, ANNOTATION_HYPERVISOR, ANNOTATION_PAUSED, ANNOTATION_TURN,
};

fn whole(fixture: &Fixture, events: &[Occurrence]) -> String {
    let snapshot = &fixture.snapshot;
    let details = details(snapshot, events, None, now(), UTF8).join("\n");
    format!("{}\n{details}", shown(snapshot, UTF8))
}

fn event(seconds: i64, times: i32, is_warning: bool, reason: &str, message: &str) -> Occurrence {
    Occurrence {
        last: now() - SignedDuration::from_secs(seconds),
        times,
        is_warning,
        reason: reason.into(),
        message: message.into(),
    }
}

fn failed() -> Fixture {
    let mut fixture = bootstrapping();
    let message =
        "3/5 kubeadm-join failed with exit code 1:\nerror: port 10250 is taken\nby pid 77";
    let conditions = [
        condition("InfrastructureReady", "True", "HostClaimed", "", 170),
        condition("BootstrapReady", "False", "KubeadmJoinFailed", message, 40),
        condition("Deleting", "False", "Present", "", 170),
        condition(
            "NodeHealthy",
            "Unknown",
            "WaitingForNode",
            "no Node yet",
            170,
        ),
        condition("Ready", "False", "KubeadmJoinFailed", message, 40),
        condition("Stalled", "True", "KubeadmJoinFailed", message, 40),
    ];
    let status = json!({"phase": "Bootstrapping", "lastUpdated": ago(7), "host": "c"});
    fixture.machine("web-1", "set-web", status, &conditions);
    fixture
}

#[test]
fn a_failed_machine_is_shown_with_what_is_around_it_and_its_trouble_first() {
    let events = [
        event(60, 1, false, "Preparing", "9/9 kubelet"),
        event(40, 3, true, "KubeadmJoinFailed", "3/5 kubeadm-join failed"),
    ];
    assert_snapshot!(whole(&failed().of(Kind::Machine, "web-1"), &events));
}

#[test]
fn what_holds_up_a_deployment_is_named_with_the_command_that_describes_it() {
    assert_snapshot!(whole(&failed().of(Kind::MachineDeployment, "web"), &[]));
}

#[test]
fn a_set_that_gives_way_is_shown_below_its_deployment_alone() {
    assert_snapshot!(whole(&rolling().of(Kind::MachineSet, "web"), &[]));
}

#[test]
fn a_claimed_host_is_shown_below_its_machine_and_a_free_one_alone() {
    let claimed = whole(&ready().of(Kind::Host, "b"), &[]);
    let mut fixture = ready();
    let occupied = condition(
        "Available",
        "False",
        "Occupied",
        "it runs a Kubernetes that is not Tatara's",
        60,
    );
    fixture.host("d", None, "Quarantined", &[occupied]);
    let free = whole(&fixture.of(Kind::Host, "d"), &[]);
    let mut fixture = ready();
    let machine = fixture.snapshot.machines.get("web-1").expect("one").clone();
    fixture.snapshot.machines.take(Event::Delete(machine));
    let left = whole(&fixture.of(Kind::Host, "c"), &[]);
    assert_snapshot!([claimed, free, left].join("\n--\n"));
}

#[test]
fn a_hypervisor_and_a_class_are_shown_with_what_uses_them() {
    let mut fixture = ready();
    let reached = condition("Ready", "True", "GatewayAnswers", "", 300);
    fixture.hypervisor("rack-1", "Available", &[reached]);
    let mut machine = fixture.snapshot.machines.get("web-0").expect("one").clone();
    let on = (ANNOTATION_HYPERVISOR.to_owned(), "rack-1".to_owned());
    machine.annotations_mut().extend([on]);
    fixture.snapshot.machines.take(Event::Apply(machine));
    fixture.class("small");
    let set = fixture.snapshot.sets.get("web").expect("one");
    let mut set = set.clone();
    let named = json!({"valueFrom": {"machineClass": {"name": "small"}}});
    let named = serde_json::from_value(named).expect("a provider spec");
    set.spec.template.spec.provider_spec = named;
    fixture.snapshot.sets.take(Event::Apply(set));
    let hypervisor = fixture.of(Kind::Hypervisor, "rack-1");
    let shown = whole(&hypervisor, &[]);
    let class = whole(&hypervisor.of(Kind::MachineClass, "small"), &[]);
    assert_snapshot!([shown, class].join("\n--\n"));
}

#[test]
fn that_a_host_in_use_is_in_maintenance_stands_in_its_line_and_that_of_its_machine() {
    let mut fixture = ready();
    let mut host = fixture.snapshot.hosts.get("b").expect("one").clone();
    host.spec.maintenance = true;
    fixture.snapshot.hosts.take(Event::Apply(host));
    for (kind, name, line, says) in [
        (Kind::Host, "b", "Host/b", "maintenance"),
        (Kind::Cluster, "demo", "Machine/web-0", "on b (maintenance)"),
    ] {
        fixture = fixture.of(kind, name);
        let shown = shown(&fixture.snapshot, UTF8);
        let mut lines = shown.lines().filter(|one| one.contains(line));
        assert!(lines.any(|one| one.contains(says)), "{shown}");
    }
}

#[test]
fn the_budget_that_blocks_an_update_stands_in_the_line_of_the_machine() {
    let mut fixture = ready();
    let evicts = "evicting the pods of Node b before its kubelet starts anew";
    let budget = "PodDisruptionBudget shop/web allows no disruption of Pod shop/web-0";
    let conditions = [
        condition("Draining", "True", "DrainBlocked", budget, 60),
        condition("Updating", "True", "Draining", evicts, 60),
        condition("Ready", "True", "NodeReady", "", 600),
    ];
    let stage = json!({"name": "Running", "since": ago(3_000)});
    let change = json!({"kind": "Update", "step": "Drain", "begun": true, "since": ago(90),
        "waitsFor": "Budget", "waitsSince": ago(60)});
    let status = json!({"phase": "Updating", "host": "b", "stage": stage, "change": change});
    fixture.machine("web-0", "set-web", status, &conditions);
    let shown = shown(&fixture.snapshot, UTF8);
    let mut lines = shown.lines().filter(|one| one.contains("Machine/web-0"));
    let line = lines.next().expect("its line");
    assert!(
        line.contains("✗") && line.contains(&format!("DrainBlocked: {budget}")),
        "{shown}"
    );
    // and of the Machine itself, where it is, and for how long
    let whole = whole(&fixture.of(Kind::Machine, "web-0"), &[]);
    let stage = "stage:\n  Running, for 50m\n  Update: Drain, for 90s; waits for Budget, for 60s\n";
    assert!(whole.contains(stage), "{whole}");
}

#[test]
fn a_cluster_shows_whose_turn_it_is_and_who_asks_for_it() {
    let mut fixture = ready();
    let change = json!({"kind": "Update", "step": "Upgrade", "begun": true, "since": ago(30)});
    let request = json!({"action": "upgrade", "since": ago(40)});
    let status = json!({"phase": "Updating", "change": change});
    fixture.machine("web-0", "set-web", status, &[]);
    fixture.machine("web-1", "set-web", json!({"turnRequest": request}), &[]);
    let leaves = json!({"action": "remove", "since": ago(40)});
    fixture.machine("web-2", "set-web", json!({"turnRequest": leaves}), &[]);
    let turn = r#"{"machine":"web-0","name":"web-0","action":"upgrade"}"#;
    let mut cluster = fixture.snapshot.clusters.get("demo").expect("it").clone();
    cluster
        .annotations_mut()
        .insert(ANNOTATION_TURN.into(), turn.into());
    let held = json!({
        "controlPlaneTurn": {"name": "web-0", "action": "upgrade", "since": ago(180)},
        "turnRequest": {"action": "remove", "since": ago(20)},
    });
    cluster.status = serde_json::from_value(held).expect("a status");
    fixture.snapshot.clusters.take(Event::Apply(cluster));
    let whole = whole(&fixture.of(Kind::Cluster, "demo"), &[]);
    let lines = "turn:\n  Machine web-0 has it, to be updated, for 3m; at Upgrade for 30s\n  the Cluster asks for it, to remove an etcd member that belongs to no Machine, for 20s\n  Machine web-2 asks for it, to leave, for 40s\n  Machine web-1 asks for it, to be updated, for 40s\n";
    assert!(whole.contains(lines), "{whole}");
}

/// A Machine with this reason, on a host that does not answer.
fn failing(reason: &str) -> Fixture {
    let mut fixture = bootstrapping();
    let ready = condition("Ready", "False", reason, "why", 40);
    let status = json!({"phase": "Bootstrapping", "host": "c"});
    fixture.machine("web-1", "set-web", status, &[ready]);
    let silent = |kind| condition(kind, "False", "SshUnreachable", "no answer", 40);
    let conditions = ["Reachable", "Ready"].map(silent);
    fixture.host("c", Some("web-1"), "Claimed", &conditions);
    fixture.of(Kind::Machine, "web-1")
}

#[test]
fn the_fault_of_a_claimed_host_is_named_beside_its_command() {
    let commands = commands(&failing("SshUnreachable").snapshot);
    let why: Vec<&str> = commands.iter().map(|one| one.why.as_str()).collect();
    assert_eq!(why, ["about SshUnreachable"]);
}

#[test]
fn of_two_hosts_with_its_claim_a_machine_shows_its_own_first_and_both() {
    for (written, said, expected) in [
        (Some("c"), "b", "on c and b"),
        (None, "c", "on c and b"),
        (None, "x", "on b and c"),
    ] {
        let mut fixture = ready();
        fixture.host("b", Some("web-1"), "Claimed", &[]);
        let mut machine = fixture.snapshot.machines.get("web-1").expect("one").clone();
        let written = written.map(|host| (ANNOTATION_HOST.to_owned(), host.to_owned()));
        machine.annotations_mut().extend(written);
        machine.status.as_mut().expect("a status").host = Some(said.into());
        fixture.snapshot.machines.take(Event::Apply(machine));
        let shown = shown(&fixture.of(Kind::Machine, "web-1").snapshot, UTF8);
        assert!(shown.contains(expected), "{shown}");
        assert!(
            ["Host/b", "Host/c"].iter().all(|host| shown.contains(host)),
            "{shown}"
        );
    }
}

#[test]
fn the_command_to_go_on_fits_how_the_object_is() {
    let mut paused = ready();
    let mut cluster = paused.snapshot.clusters.get("demo").expect("one").clone();
    let pause = (ANNOTATION_PAUSED.to_owned(), String::new());
    cluster.annotations_mut().extend([pause]);
    paused.snapshot.clusters.take(Event::Apply(cluster));
    let mut doubtful = ready();
    let mut cluster = doubtful.snapshot.clusters.get("demo").expect("one").clone();
    let says = condition("Ready", "False", "TurnInDoubt", "why", 40);
    let says = json!({ "phase": "Provisioning", "conditions": [says] });
    cluster.status = serde_json::from_value(says).expect("a status");
    doubtful.snapshot.clusters.take(Event::Apply(cluster));
    for (fixture, expected) in [
        (ready(), vec!["tatara kubeconfig demo -n default"]),
        (doubtful, vec!["tatara cluster resolve demo -n default"]),
        (
            bootstrapping(),
            vec!["tatara describe machine demo-cp-0 -n default"],
        ),
        (
            paused,
            vec!["kubectl annotate cluster demo -n default cluster.k8s.io/paused-"],
        ),
        (
            ready().of(Kind::Machine, "web-0"),
            vec!["tatara describe cluster demo -n default"],
        ),
        (
            failed().of(Kind::Machine, "web-1"),
            vec![
                "tatara logs machine web-1 -n default",
                "kubectl annotate machine web-1 -n default --overwrite tatara.dev/retry=\"$(date +%s)\"",
            ],
        ),
        // nothing runs on a host that does not answer, and what an edit mends is not retried
        (
            failing("SshUnreachable"),
            vec!["tatara describe host c -n default"],
        ),
        (
            failing("InvalidConfiguration"),
            vec!["tatara describe host c -n default"],
        ),
        (
            failed().of(Kind::MachineSet, "web"),
            vec!["tatara describe machine web-1 -n default"],
        ),
        (ready().of(Kind::Machine, "none"), vec![]),
    ] {
        let commands = commands(&fixture.snapshot).into_iter();
        let commands: Vec<String> = commands.map(|command| command.text).collect();
        assert_eq!(commands, expected);
    }
}
