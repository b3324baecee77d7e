//! Types of the API, and nothing else: no I/O, no clock, no client.
//!
//! Group `cluster.k8s.io/v1alpha1` keeps the JSON names, defaults, labels and annotations of the
//! 2019 Cluster API; Tatara only adds optional fields. Group `tatara.dev/v1alpha1` is our own
//! inventory. `multicluster.x-k8s.io/v1alpha1` is SIG Multicluster's; we publish into it.

pub mod bmc;
pub mod cluster;
pub mod cluster_profile;
pub mod cluster_provider_spec;
pub mod condition_type;
pub mod conditions;
pub mod crd;
pub mod given_up;
pub mod host;
pub mod hypervisor;
pub mod installation;
pub mod libvirt_machine_provider_spec;
pub mod machine;
pub mod machine_class;
pub mod machine_deployment;
pub mod machine_provider_spec;
pub mod machine_set;
pub mod machine_stage;
pub mod meta;
pub mod names;
pub mod ownership;
mod provider_schema;
pub mod provider_spec;
pub mod quantity;
pub mod readable;
pub mod reason;
pub mod reported;
mod resource;
mod schema;
pub mod why;
pub mod whys;
mod words;

pub use cluster::{Cluster, ClusterSpec, ClusterStatus};
pub use cluster_profile::{ClusterProfile, ClusterProfileSpec, ClusterProfileStatus};
pub use cluster_provider_spec::ClusterProviderSpec;
pub use host::{Host, HostSpec, HostStatus};
pub use hypervisor::{Hypervisor, HypervisorSpec, HypervisorStatus};
pub use libvirt_machine_provider_spec::LibvirtMachineProviderSpec;
pub use machine::{Machine, MachineSpec, MachineStatus, MachineVersions};
pub use machine_class::MachineClass;
pub use machine_deployment::{MachineDeployment, MachineDeploymentSpec, MachineDeploymentStatus};
pub use machine_provider_spec::{
    MachineProviderSpec, SimulatedMachineProviderSpec, SshMachineProviderSpec,
};
pub use machine_set::{MachineSet, MachineSetSpec, MachineSetStatus};
pub use meta::{EmbeddedMeta, MachineTemplate};
pub use provider_spec::ProviderSpec;

/// API group of the five kinds taken over from the 2019 Cluster API.
pub const CLUSTER_GROUP: &str = "cluster.k8s.io";
/// API group of Tatara's own inventory and provider specs.
pub const TATARA_GROUP: &str = "tatara.dev";
/// The one version that both groups serve.
pub const VERSION: &str = "v1alpha1";
