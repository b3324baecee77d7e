//! The types of our conditions.

use super::words::words;

words! {
    /// The question that a condition answers, as it is written in the API. Those of `Events alone` are the `action` of an
    /// Event about an object that has no such condition.
    ConditionType {
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
}
