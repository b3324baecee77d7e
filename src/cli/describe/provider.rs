//! Objects that Tatara does not reconcile: they belong to another provider, or their provider is
//! unknown.

use super::standing::{Mark, Standing};
use tatara_core::api::ownership::{Place, Whose, of_cluster, of_machines};
use tatara_core::api::{Cluster, Machine, MachineDeployment, MachineSet, MachineSpec};

/// Which provider an object belongs to, given its Cluster, if there is one.
pub(super) trait ProviderOf {
    fn whose(&self, cluster: Option<&Cluster>) -> Whose;
}

impl ProviderOf for Cluster {
    fn whose(&self, _: Option<&Cluster>) -> Whose {
        of_cluster(self)
    }
}

impl ProviderOf for Machine {
    fn whose(&self, cluster: Option<&Cluster>) -> Whose {
        of_spec(&self.spec, Place::Machine, cluster)
    }
}

impl ProviderOf for MachineSet {
    fn whose(&self, cluster: Option<&Cluster>) -> Whose {
        of_spec(&self.spec.template.spec, Place::Template, cluster)
    }
}

impl ProviderOf for MachineDeployment {
    fn whose(&self, cluster: Option<&Cluster>) -> Whose {
        of_spec(&self.spec.template.spec, Place::Template, cluster)
    }
}

fn of_spec(spec: &MachineSpec, place: Place, cluster: Option<&Cluster>) -> Whose {
    let from = spec.provider_spec.value_from.as_ref();
    let is_classed = from.is_some_and(|from| from.machine_class.is_some());
    if is_classed && spec.provider_spec.value.is_none() {
        // classes are not read here
        return Whose::Ours;
    }
    of_machines(spec, place, None, cluster)
}

/// The summary of an object; for one that Tatara does not reconcile, the cause.
pub(super) fn judged(
    object: &impl ProviderOf,
    cluster: Option<&Cluster>,
    standing: Standing,
) -> Standing {
    let message = match object.whose(cluster) {
        Whose::Ours => return standing,
        Whose::Foreign(which) => {
            format!("it belongs to another provider ({which}); Tatara does not reconcile it")
        }
        Whose::Unknown(why) => why,
    };
    Standing {
        mark: Mark::Working,
        reason: String::new(),
        message,
        ..standing
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::kinds;
    use super::*;

    fn machine(provider: &Value) -> Machine {
        let machine = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
            "metadata": {"name": "m"}, "spec": {"providerSpec": provider}});
        serde_json::from_value(machine).unwrap()
    }

    #[test]
    fn what_tatara_leaves_alone_says_why() {
        let cluster = json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "c"},
            "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["10.96.0.0/16"]},
                "pods": {"cidrBlocks": ["10.244.0.0/16"]}, "serviceDomain": "cluster.local"}}});
        let cluster: Cluster = serde_json::from_value(cluster).unwrap();
        let ours = json!({"value": {"apiVersion": "tatara.dev/v1alpha1", "kind": "SSHMachineProviderSpec"}});
        let foreign = json!({"value": {"apiVersion": "awsprovider.k8s.io/v1alpha1", "kind": "AWSMachineProviderConfig"}});
        let unknown = json!({"value": {"replicas": 1}});
        let of_class = json!({"valueFrom": {"machineClass": {"name": "small"}}});
        for (provider, says) in [
            (ours, "no controller has reported a condition"),
            (of_class, "no controller has reported a condition"),
            (
                foreign,
                "another provider (awsprovider.k8s.io/v1alpha1 AWSMachineProviderConfig)",
            ),
            (unknown, "so its provider is unknown"),
        ] {
            let machine = machine(&provider);
            let standing = judged(&machine, Some(&cluster), kinds::machine(&machine, None));
            assert!(standing.message.contains(says), "{}", standing.message);
        }
    }
}
