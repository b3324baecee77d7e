use std::sync::Arc;

use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::workload::properties::Properties;

fn at(time: &str) -> Timestamp {
    format!("2026-11-21T{time}Z").parse().expect("a time")
}

fn input() -> Input {
    let network =
        json!({"services": {"cidrBlocks": []}, "pods": {"cidrBlocks": []}, "serviceDomain": ""});
    let cluster = json!({"metadata": {"name": "forge", "namespace": "metal"}, "spec": {"clusterNetwork": network}});
    let server = Server {
        url: "https://10.0.0.1:6443".into(),
        authority_pem: String::new(),
    };
    Input {
        cluster: Arc::new(serde_json::from_value(cluster).expect("a Cluster")),
        namespaces: Vec::new(),
        forbidden: Vec::new(),
        server: Ok(server),
        verdict: Verdict::Healthy,
        health: String::new(),
        version: None,
        secret: None,
        rival: None,
        is_connected: true,
    }
}

fn told(token: Option<&str>) -> WorkloadAnswer {
    WorkloadAnswer {
        properties: Some(Properties::default()),
        token: token.map(SecretString::from),
        problem: None,
    }
}

/// A profile of `metal/forge` in namespace `argocd`, as the watch shows it.
fn profile(version: &str) -> PartialObjectMeta<ClusterProfile> {
    let labels = json!({(LABEL_CLUSTER): "forge", (LABEL_CLUSTER_NAMESPACE): "metal"});
    let profile = json!({"apiVersion": "v1", "kind": "ClusterProfile", "metadata":
        {"name": "forge", "namespace": "argocd", "resourceVersion": version, "labels": labels}});
    serde_json::from_value(profile).expect("a profile")
}

/// The same, as it is read.
fn profiles(version: &str) -> Profiles {
    Profiles {
        served: true,
        versions: [("argocd".to_owned(), version.to_owned())].into(),
        ..Profiles::default()
    }
}

#[test]
fn a_settled_cluster_is_looked_at_again_when_a_profile_changes_even_while_a_pass_ends() {
    let (memory, input, now) = (Memory::default(), input(), at("10:00:00"));
    let (cluster, given) = (input.cluster.as_ref(), PublishInput::of(&input));
    let settled = || memory.begin(cluster, &given, now).is_settled(&given, now);
    memory.begin(cluster, &given, now);
    memory.update(cluster, |remembered| {
        remembered.take(told(Some("t")), now);
        remembered.see(&profiles("7"), &ProfileRecord::default());
    });
    memory.settle(cluster, &given);
    assert!(settled());
    assert_eq!(memory.changed(&profile("7")), None, "seen by the pass");
    assert!(settled());
    let woken = memory.changed(&profile("8")).expect("a Cluster");
    assert_eq!(
        (woken.namespace.as_deref(), woken.name.as_str()),
        (Some("metal"), "forge")
    );
    assert!(!settled());
    assert!(memory.changed(&profile("9")).is_some());
    memory.settle(cluster, &given);
    assert!(!settled(), "a change that came after the pass had looked");
    memory.settle(cluster, &given);
    assert!(settled());
    memory.forget(cluster);
    assert!(!settled());
}

#[test]
fn a_member_is_asked_every_five_minutes_and_with_growing_pauses_where_it_did_not_tell() {
    let mut input = input();
    let given = PublishInput::of(&input);
    let mut remembered = ProfileRecord::default();
    let after = |seconds| Next::After(Duration::from_secs(seconds));
    for (seconds, pause) in [(0, 1), (1, 2), (3, 4), (7, 8), (15, 16), (31, 32), (63, 60)] {
        let now = at("10:00:00") + SignedDuration::from_secs(seconds);
        assert!(remembered.is_due(&given, now), "after {seconds} s");
        remembered.take(told(None), now);
        assert_eq!(remembered.asks(&given, now), after(pause), "no token");
        assert!(!remembered.is_due(&given, now), "after {seconds} s");
    }
    remembered.take(told(Some("t")), at("10:02:02"));
    assert_eq!(remembered.asks(&given, at("10:03:02")), after(4 * 60));
    let problem = Some("the API server answered 500".to_owned());
    let silent = WorkloadAnswer {
        problem: problem.clone(),
        ..WorkloadAnswer::default()
    };
    remembered.take(silent.clone(), at("10:07:02"));
    assert_eq!(remembered.asks(&given, at("10:07:02")), after(1));
    remembered.take(silent, at("10:07:03"));
    assert_eq!(remembered.asks(&given, at("10:07:03")), after(2));
    assert_eq!(remembered.problem(), problem.as_ref());
    assert!(remembered.told.token.is_some(), "what it told before stays");
    input.verdict = Verdict::Unhealthy;
    let given = PublishInput::of(&input);
    let never = remembered.asks(&given, at("11:00:00"));
    assert_eq!(
        never,
        Next::OnChange,
        "one that is down is not asked, nor passed over at once"
    );
}

#[test]
fn what_one_member_told_is_never_anothers() {
    let (memory, mut input, now) = (Memory::default(), input(), at("10:00:00"));
    let cluster = input.cluster.clone();
    let token = |given: &PublishInput| memory.begin(&cluster, given, now).told.token.is_some();
    let first = PublishInput::of(&input);
    memory.begin(&cluster, &first, now);
    memory.update(&cluster, |remembered| remembered.take(told(Some("t")), now));
    assert!(token(&first));
    input.server = Err("its kubeconfig cannot be read".into());
    assert!(token(&PublishInput::of(&input)), "not known at the moment");
    input.server = Ok(Server {
        url: "https://10.0.0.2:6443".into(),
        authority_pem: String::new(),
    });
    let second = PublishInput::of(&input);
    assert!(!token(&second), "another server");
    memory.update(&cluster, |remembered| remembered.take(told(Some("u")), now));
    assert!(token(&second));
    let namesake = PublishInput {
        uid: Some("another".into()),
        ..second
    };
    assert!(!token(&namesake), "another Cluster of that name");
    memory.forget(&cluster);
    memory.update(&cluster, |remembered| remembered.take(told(Some("v")), now));
    assert!(!token(&namesake), "forgotten while it was asked");
}

#[test]
fn what_came_of_the_account_is_said_once_and_our_own_write_is_no_change() {
    let (memory, input, now) = (Memory::default(), input(), at("10:00:00"));
    let (cluster, given) = (input.cluster.as_ref(), PublishInput::of(&input));
    let refused = || Some("failed to make the account of its consumers: no".to_owned());
    memory.begin(cluster, &given, now);
    let made = |problem: Option<String>| {
        let mut is_news = false;
        memory.update(cluster, |remembered| {
            remembered.take(told(Some("t")), now);
            is_news = remembered.take_account(problem);
        });
        memory.settle(cluster, &given);
        let before = memory.begin(cluster, &given, now);
        (is_news, before.is_settled(&given, now))
    };
    assert_eq!(made(None), (false, true));
    assert_eq!(made(refused()), (true, false), "the next pass says it");
    assert_eq!(made(refused()), (false, true));
    assert_eq!(made(None), (true, false));
    memory.update(cluster, |remembered| {
        remembered.see(&profiles("7"), &ProfileRecord::default());
    });
    assert_eq!(memory.changed(&profile("7")), None);
    assert!(memory.changed(&profile("8")).is_some());
}

#[test]
fn what_was_read_holds_until_the_watch_tells_of_a_later_change() {
    let (memory, input, now) = (Memory::default(), input(), at("10:00:00"));
    let (cluster, given) = (input.cluster.as_ref(), PublishInput::of(&input));
    memory.begin(cluster, &given, now);
    let known = || memory.update(cluster, |_| ()).profiles().is_some();
    assert!(!known(), "nobody has looked");
    let before = memory.update(cluster, |_| ());
    memory.update(cluster, |remembered| {
        remembered.see(&profiles("7"), &before);
    });
    assert_eq!(
        memory.changed(&profile("6")),
        None,
        "an earlier write of ours"
    );
    assert!(known());
    assert!(memory.changed(&profile("9")).is_some());
    assert!(!known());
    let before = memory.update(cluster, |_| ());
    assert!(memory.changed(&profile("10")).is_some(), "while it is read");
    memory.update(cluster, |remembered| {
        remembered.see(&profiles("9"), &before);
    });
    assert!(!known());
    let before = memory.update(cluster, |_| ());
    // it was deleted, and the list does not contain it
    memory.update(cluster, |remembered| {
        remembered.see(&Profiles::default(), &before);
    });
    assert!(known());
}

#[test]
fn the_secret_of_consumers_is_read_again_when_the_watch_shows_another() {
    use SecretSeen::{At, Deleted, Missing, Untold};
    let found = ExistingSecret {
        uid: None,
        is_ours: true,
        other: None,
        kubeconfig: None,
    };
    let at = |version: &str| At(version.to_owned());
    // with the revision at which the watch showed it
    for (then, now, holds) in [
        (Missing(1), Missing(1), true),
        (Missing(1), Missing(2), false),
        (Missing(1), at("5"), true),
        (Missing(1), at("6"), false),
        (Missing(1), Deleted(2), false),
        (Deleted(1), Deleted(1), true),
        (Deleted(1), Deleted(3), false),
        (at("5"), Missing(2), false),
        (at("5"), Untold, true),
        (at("5"), at("6"), false),
        (at("4"), at("5"), true),
    ] {
        let mut remembered = ProfileRecord::default();
        remembered.keep(Some(&then), Some(("5".into(), found.clone())));
        let kept = remembered.secret(Some(&now));
        assert_eq!(kept.is_some(), holds, "{then:?} to {now:?}");
        assert!(remembered.secret(None).is_none(), "nobody watches");
    }
}
