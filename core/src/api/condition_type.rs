//! The types of our conditions.

use serde::Serialize;

use super::words::word;

macro_rules! condition_types {
    ($($word:ident),* $(,)?) => {
        /// The question that a condition answers, as it is written in the API. Those of `Events alone` are the `action` of an
        /// Event about an object that has no such condition.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[allow(missing_docs)]
        pub enum ConditionType {
            $($word,)*
        }

        impl ConditionType {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$word,)*];

            /// As it is written in the API.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$word => stringify!($word),)*
                }
            }
        }
    };
}

condition_types! {
    // all kinds
    Ready, Reconciling, Stalled, Paused, Deleting,
    // Host and Hypervisor
    Reachable, Available, Clean, Installed, BMCReachable, PowerOn, MachinesKnown,
    // Machine
    InfrastructureReady, HostClean, BootstrapReady, NodeHealthy, UpToDate, Updating, KubeadmAddonsUpToDate, APIServerHealthy, ControllerManagerHealthy, SchedulerHealthy, EtcdMemberHealthy, Draining, ConfigSourceUsed, HostIsGoneUsed,
    // Cluster
    ConfigurationValid, CertificatesReady, ControlPlaneInitialized, ControlPlaneHealthy, EtcdHealthy, SettingsApplied, AddonsApplied, ProfilePublished,
    // MachineSet and MachineDeployment
    MachinesReady, ScalingUp, ScalingDown, Progressing, RollingOut,
    // ClusterProfile (KEP-4322)
    Joined,
    // of a MachineHealthCheck, read only
    HealthCheckSucceeded, Healthy,
    // Events alone
    Readable, ProviderKnown, Reconciled,
}

word!(ConditionType);
