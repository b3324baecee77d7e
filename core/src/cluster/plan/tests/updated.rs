//! What is said of etcd while a control plane is updated, which starts its member anew.

use super::*;

#[test]
fn what_does_not_answer_while_a_control_plane_is_updated_says_so_first() {
    let silent = || {
        let mut observed = running();
        observed.etcd = Some(Err("etcd was not reached".into()));
        observed
    };
    let says = |observed: &Observed| {
        let plan = plan(observed);
        let etcd = plan.findings.iter();
        let mut etcd = etcd.filter(|finding| finding.condition == ConditionType::EtcdHealthy);
        etcd.next().expect("a finding").message()
    };
    assert!(says(&silent()).starts_with("the manager reads no list"));
    let mut updated = silent();
    updated.turn = Some(Turn {
        action: TurnAction::Upgrade,
        ..turn()
    });
    let said = says(&updated);
    assert!(said.starts_with("control-plane Machine "), "{said}");
    assert!(said.contains("is updated, which starts etcd"), "{said}");
    assert!(said.contains("etcd was not reached"), "{said}");
}

#[test]
fn an_alarm_in_mid_update_is_said_first_because_no_restart_explains_it() {
    for (alarm, begins) in [
        ("NOSPACE", "etcd member node-1 has no room for more data"),
        ("CORRUPT", "etcd member node-1 reports damaged data"),
    ] {
        let mut updated = running();
        updated.turn = Some(Turn {
            action: TurnAction::Upgrade,
            ..turn()
        });
        let id = MemberId(1);
        let member = Member {
            id,
            name: "node-1".into(),
            peer_urls: vec!["https://192.0.2.11:2380".into()],
            is_learner: false,
        };
        let members = Members {
            list: vec![member],
            health: [(id, MemberHealth::Healthy)].into(),
            alarms: vec![(id, alarm.into())],
            ..Members::default()
        };
        updated.etcd = Some(Ok(Arc::new(members)));
        let plan = plan(&updated);
        let mut findings = plan.findings.iter();
        let etcd = findings.find(|finding| finding.condition == ConditionType::EtcdHealthy);
        let said = &etcd.expect("a finding").message();
        assert!(said.starts_with(begins), "{said}");
    }
}
