//! Profiles that others have, and profiles that go.

use std::time::Duration;

use super::*;
use crate::api::conditions::Reason;

#[test]
fn a_foreign_profile_and_a_forbidden_namespace_are_named_and_the_others_go_on() {
    let mut observed = Observed {
        namespaces: vec!["argocd".into(), "kueue-system".into()],
        forbidden: vec!["secret-place".into()],
        ..healthy()
    };
    let foreign = Existing::Foreign("that of the cluster manager open-cluster-management".into());
    observed.profiles.insert("argocd".into(), foreign);
    let plan = plan(&observed, at("10:00:00"));
    let [
        Action::Publish {
            namespace,
            object: Some(object),
            ..
        },
    ] = plan.actions.as_slice()
    else {
        panic!("{plan:?}");
    };
    assert_eq!(namespace, "kueue-system");
    assert_eq!(
        object.owner_references(),
        [],
        "an owner in another namespace is invalid"
    );
    let finding = &plan.findings[0];
    assert_eq!(
        (finding.status, finding.reason()),
        (Status::False, Reason::ForeignProfile)
    );
    assert_eq!(
        finding.message(),
        "ClusterProfile argocd/forge is that of the cluster manager open-cluster-management and is left \
         alone; delete it there, or name another namespace in spec.providerSpec.value.profile.namespaces; \
         spec.providerSpec.value.profile.namespaces names secret-place, which the manager's \
         --profile-namespaces does not; add it to that option, or remove it here"
    );
}

#[test]
fn a_namespace_that_is_asked_for_no_more_loses_its_profile() {
    let observed = Observed {
        namespaces: vec!["argocd".into()],
        ..published()
    };
    let plan = plan(&observed, at("11:00:00"));
    let [
        Action::Publish { .. },
        Action::Publish {
            status: Some(status),
            ..
        },
        Action::Withdraw { namespace, uid },
    ] = plan.actions.as_slice()
    else {
        panic!("{plan:?}");
    };
    assert_eq!(condition(status, "Joined").reason, "Withdrawn");
    assert_eq!((namespace.as_str(), uid.as_str()), ("metal", "profile-uid"));
}

#[test]
fn a_profile_that_somebody_deletes_is_made_again_when_it_is_gone() {
    let mut observed = published();
    change(&mut observed, "metal", |ours| {
        ours.deleted_at = Some(at("10:59:00"));
    });
    let plan_1 = plan(&observed, at("11:00:00"));
    assert_eq!(
        (plan_1.actions.len(), plan_1.findings[0].reason()),
        (0, Reason::BeingDeleted)
    );
    observed.profiles.clear();
    assert_eq!(plan(&observed, at("11:00:00")).actions.len(), 1);
}

#[test]
fn a_cluster_that_goes_takes_its_profile_along_first() {
    let mut observed = published();
    observed.cluster.deleting = true;
    let plan_1 = plan(&observed, at("12:00:00"));
    let [
        Action::Publish {
            object: None,
            status: Some(status),
            ..
        },
        Action::Withdraw { .. },
    ] = plan_1.actions.as_slice()
    else {
        panic!("{plan_1:?}");
    };
    let joined = condition(status, "Joined");
    assert_eq!(
        (joined.status.as_str(), joined.reason.as_str()),
        ("False", "ClusterDeleting")
    );
    assert_eq!(condition(status, "ControlPlaneHealthy").status, "True");
    assert_eq!(status.access_providers.len(), 1);
    let observed = executed(observed, plan_1);
    assert_eq!(plan(&observed, at("12:00:00")).actions, [Action::Release]);
    let released = Observed {
        cluster: ClusterFacts {
            held: false,
            ..observed.cluster.clone()
        },
        ..observed
    };
    assert_eq!(plan(&released, at("12:00:00")), Plan::default());
}

#[test]
fn finalizers_of_consumers_delay_the_end_of_a_cluster_for_a_minute_and_no_longer() {
    let mut observed = published();
    observed.cluster.deleting = true;
    change(&mut observed, "metal", |ours| {
        ours.deleted_at = Some(at("12:00:00"));
        ours.finalizers = vec!["clusterinventory.projectsveltos.io/finalizer".into()];
    });
    let waiting = plan(&observed, at("12:00:20"));
    assert_eq!(waiting.actions, []);
    assert_eq!(waiting.next, Next::After(Duration::from_secs(40)));
    assert_eq!(
        waiting.findings[0].message(),
        "ClusterProfile metal/forge is removed first, which the finalizers \
         clusterinventory.projectsveltos.io/finalizer of its consumers hold; waiting at most 60 s"
    );
    assert_eq!(plan(&observed, at("12:01:00")).actions, [Action::Release]);
}

#[test]
fn without_its_definition_a_cluster_says_so_and_can_still_go() {
    let mut observed = Observed {
        served: false,
        ..healthy()
    };
    let plan_1 = plan(&observed, at("10:00:00"));
    assert_eq!(
        (plan_1.actions.len(), plan_1.findings[0].reason()),
        (0, Reason::DefinitionMissing)
    );
    observed.cluster.deleting = true;
    assert_eq!(plan(&observed, at("10:00:00")).actions, [Action::Release]);
}

#[test]
fn inventories_are_the_clusters_own_unless_others_are_asked_for_and_allowed() {
    let asked = |names: &[&str]| {
        let settings = ProfileSettings {
            namespaces: names.iter().map(ToString::to_string).collect(),
        };
        inventories(&settings, "metal", &["argocd".into()])
    };
    assert_eq!(asked(&[]), (vec!["metal".into()], vec![]));
    assert_eq!(
        asked(&["kueue-system", "metal", "argocd", "argocd"]),
        (
            vec!["argocd".into(), "metal".into()],
            vec!["kueue-system".into()]
        )
    );
}
