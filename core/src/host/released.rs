//! Whether a host must still be reset, left to another Host, or freed, by what was read live just
//! before: that is irreversible.

use kube::ResourceExt;

use super::duplicate_hosts::is_same_server;
use crate::api::host::{ConsumerRef, HostFacts};
use crate::api::names::ANNOTATION_INSTALLATION;
use crate::api::{Cluster, Host, Machine};
use crate::claim;
use crate::proof::Clean;

/// Whether the decision still holds: the claim is the same and released, and the Machine of this
/// name does not exist, is another one, or is being deleted.
pub fn is_released(decided_on: &Host, live: &Host, machine: Option<&Machine>) -> bool {
    let Some(consumer) = &live.spec.consumer_ref else {
        return false;
    };
    let stays = machine.is_some_and(|machine| {
        machine.uid().as_ref() == Some(&consumer.uid)
            && machine.metadata.deletion_timestamp.is_none()
    });
    live.spec.consumer_ref == decided_on.spec.consumer_ref && consumer.releasing && !stays
}

/// Whether the host that was decided on still has the same claim and server: its release may have
/// been reverted since.
pub fn is_same(decided_on: &Host, live: &Host) -> bool {
    let (was, is) = (&decided_on.spec, &live.spec);
    was.consumer_ref == is.consumer_ref && was.ssh == is.ssh
}

/// Whether the Cluster of a released host goes, with all that runs on its hosts.
pub fn goes(cluster: &Cluster) -> bool {
    cluster.metadata.deletion_timestamp.is_some()
}

/// Whether the server of a Host that is being deleted is left to another Host (`other`, if it
/// exists): that one stays, has the same claim, and is the same server. Of two deleted at once, one
/// remains. `seen`: what the server reported just now. `is_marked`: the server of a Host had the
/// marker of the Machine that both claim.
pub fn is_left_to(
    host: &Host,
    seen: Option<&HostFacts>,
    other: Option<&Host>,
    is_marked: impl Fn(&Host) -> bool,
) -> bool {
    let Some((other, claimant)) = other.zip(claim::claimant(host, "")) else {
        return false;
    };
    claim::is_of(other, &claimant) && is_same_server(host, seen, other, is_marked)
}

/// What is proven of the Machine whose claim a host that was installed anew has; `None` if nobody
/// claims it.
///
/// # Errors
/// Somebody claims it, and nothing is proven.
pub fn installed<'a>(
    host: &Host,
    clean: Option<&'a Clean>,
) -> Result<Option<&'a Clean>, &'static str> {
    if clean.is_none() && host.spec.consumer_ref.is_some() {
        return Err(
            "it has a marker, or data of Kubernetes, or does not say which installation it has; look at it",
        );
    }
    Ok(clean)
}

/// What a host is freed on: its claim, and the installation that is recorded.
pub fn basis(host: &Host) -> (Option<ConsumerRef>, Option<String>) {
    let underway = host.annotations().get(ANNOTATION_INSTALLATION).cloned();
    (host.spec.consumer_ref.clone(), underway)
}

/// Whether a Node that is left in the Cluster has to be deleted: the Nodes of one that is being
/// deleted end with it, and its API may have ended before them. Somebody else's control plane
/// outlives it.
pub fn keeps_its_nodes(cluster: &Cluster, is_external: bool) -> bool {
    cluster.metadata.deletion_timestamp.is_none() || is_external
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::proof::Proof;

    fn host(consumer: &Value) -> Host {
        let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": "h"},
            "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}}, "consumerRef": consumer}});
        serde_json::from_value(host).unwrap()
    }

    fn machine(uid: &str, deleted: &Value) -> Machine {
        let machine = json!({"metadata": {"name": "w", "uid": uid, "deletionTimestamp": deleted}, "spec": {}});
        serde_json::from_value(machine).unwrap()
    }

    #[test]
    fn a_clean_host_does_not_wait_for_the_api_of_a_cluster_that_goes() {
        let cluster = |deleted: &Value| -> Cluster {
            let network = json!({"pods": {"cidrBlocks": ["10.244.0.0/16"]},
                "services": {"cidrBlocks": ["10.96.0.0/16"]}, "serviceDomain": "cluster.local"});
            let cluster = json!({"metadata": {"name": "a", "deletionTimestamp": deleted},
                "spec": {"clusterNetwork": network}});
            serde_json::from_value(cluster).unwrap()
        };
        let (stays, goes) = (
            cluster(&Value::Null),
            cluster(&json!("2027-01-15T08:00:00Z")),
        );
        for (case, cluster, is_external, keeps) in [
            ("it stays", &stays, false, true),
            ("it goes", &goes, false, false),
            ("its control plane is another's", &goes, true, true),
        ] {
            assert_eq!(keeps_its_nodes(cluster, is_external), keeps, "{case}");
        }
    }

    fn with(consumer: &Value, change: fn(&mut Host)) -> Host {
        let mut host = host(consumer);
        change(&mut host);
        host
    }

    #[test]
    fn a_reset_begins_only_on_the_server_and_claim_that_were_decided_on() {
        let claim = json!({"name": "w", "uid": "m", "cluster": "a", "releasing": true});
        let decided_on = host(&claim);
        for (case, live, is) in [
            ("as it was", host(&claim), true),
            ("freed", host(&Value::Null), false),
            (
                "kept again",
                with(&claim, |host| {
                    host.spec.consumer_ref.as_mut().unwrap().releasing = false;
                }),
                false,
            ),
            (
                "another server",
                with(&claim, |host| host.spec.ssh.address = "192.0.2.11".into()),
                false,
            ),
            (
                "in maintenance",
                with(&claim, |host| host.spec.maintenance = true),
                true,
            ),
        ] {
            assert_eq!(is_same(&decided_on, &live), is, "{case}");
        }
    }

    #[test]
    fn a_server_is_left_to_a_host_that_stays_with_the_same_claim_and_server() {
        let claim = json!({"name": "w", "uid": "m", "cluster": "a"});
        let other = |claim: &Value, change: fn(&mut Host)| {
            let mut other = with(claim, change);
            other.metadata.uid = Some("other".into());
            Some(other)
        };
        let elsewhere = |host: &mut Host| host.spec.ssh.address = "192.0.2.11".into();
        let deleted = |host: &mut Host| {
            let time = k8s_openapi::jiff::Timestamp::UNIX_EPOCH;
            let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time);
            host.metadata.deletion_timestamp = Some(time);
        };
        let anothers = json!({"name": "w", "uid": "n", "cluster": "a"});
        for (case, other, is) in [
            ("the same", other(&claim, |_| ()), true),
            ("gone", None, false),
            ("goes too", other(&claim, deleted), false),
            ("another server", other(&claim, elsewhere), false),
            ("another claim", other(&anothers, |_| ()), false),
            ("no claim", other(&Value::Null, |_| ()), false),
        ] {
            let left = is_left_to(&host(&claim), None, other.as_ref(), |_| true);
            assert_eq!(left, is, "{case}");
        }
        let free = host(&Value::Null);
        let other = other(&claim, |_| ());
        assert!(!is_left_to(&free, None, other.as_ref(), |_| true));
    }

    #[test]
    fn an_installed_host_that_somebody_claims_is_freed_only_on_proof() {
        let claimed = host(&json!({"name": "w", "uid": "m", "cluster": "a", "releasing": true}));
        let free = host(&Value::Null);
        let proof = Proof::of_no_place("m", false).expect("a proof");
        let clean = Clean::from(&proof);
        assert_eq!(installed(&claimed, clean.as_ref()), Ok(clean.as_ref()));
        assert_eq!(installed(&free, None), Ok(None));
        assert!(installed(&claimed, None).is_err());
    }

    #[test]
    fn a_host_is_freed_on_its_claim_and_its_installation() {
        let claim = json!({"name": "w", "uid": "m", "cluster": "a"});
        let is = |change: fn(&mut Host)| basis(&host(&claim)) == basis(&with(&claim, change));
        assert!(is(|host| host.spec.maintenance = true));
        assert!(!is(|host| host.spec.consumer_ref = None));
        assert!(!is(|host| {
            let record = (ANNOTATION_INSTALLATION.to_owned(), "{}".to_owned());
            host.annotations_mut().extend([record]);
        }));
    }

    #[test]
    fn a_reset_goes_by_what_the_api_server_has_now() {
        let claim = |name: &str, uid: &str, releasing: bool| json!({"name": name, "uid": uid, "cluster": "a", "releasing": releasing});
        let (released, held) = (claim("w", "m", true), claim("w", "m", false));
        let deleting = || Some(machine("m", &json!("2027-01-15T08:00:00Z")));
        let staying = || Some(machine("m", &Value::Null));
        for (case, live, machine, goes) in vec![
            ("let go, and being deleted", &released, deleting(), true),
            ("let go, and gone", &released, None, true),
            (
                "let go, and made again under its name",
                &released,
                Some(machine("another", &Value::Null)),
                true,
            ),
            ("let go, and nobody deletes it", &released, staying(), false),
            ("given back since", &held, deleting(), false),
            ("given back since, and gone", &held, None, false),
            ("freed since", &Value::Null, deleting(), false),
            (
                "given to another since",
                &claim("x", "other", false),
                None,
                false,
            ),
            (
                "let go by another since",
                &claim("x", "other", true),
                None,
                false,
            ),
        ] {
            let is = is_released(&host(&released), &host(live), machine.as_ref());
            assert_eq!(is, goes, "{case}");
        }
        let is = is_released(&host(&held), &host(&held), None);
        assert!(!is, "what was decided on had not let go");
    }
}
