//! Reasons of conditions and Events, and how much each asks of people.

use serde::Serialize;

use super::words::word;

/// How much a finding asks of people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Severity {
    /// All is well, work is under way, or it waits for something that happens without a person.
    Normal,
    /// A person must act, or should check.
    Warning,
}

/// Reasons by their severity.
macro_rules! reasons {
    ($($severity:ident { $($word:ident),* $(,)? })*) => {
        /// Why a condition has its status, as it is written in the API. One vocabulary for all kinds: a Machine repeats the
        /// reason of its Host, a MachineDeployment that of its Machines. What each one means and who acts is in
        /// docs/troubleshooting.md, which a test compares with this list.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[allow(missing_docs)]
        pub enum Reason {
            $($($word,)*)*
        }

        impl Reason {
            /// All of them.
            pub const ALL: &[Self] = &[$($(Self::$word,)*)*];

            /// As it is written in the API.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$word => stringify!($word),)*)*
                }
            }

            /// How much it asks of people.
            pub const fn severity(self) -> Severity {
                match self {
                    $($(Self::$word)|* => Severity::$severity,)*
                }
            }
        }
    };
}

reasons! {
    // any kind
    Warning {
        Unreadable, Held, NamespaceHeld, PassFailed, ProviderUnknown,
    }
    // Host
    Normal {
        SshBusy, Claimed, InUse, Resetting, Freeing, NotResetYet, WaitingForStep, Maintenance, Deleting,
        PowerUnknown, SwitchingOn, SwitchedOn, SwitchingOff, SwitchedOff, Fencing, Fenced, Retaining, Retained,
        PoweredOff, InstallationBegins, FetchingInstaller, BootingInstaller, InstallerBooted, InstallerRuns,
        BootingInstalled, StartingInstalled, InstallationEnds,
    }
    // Host
    Warning {
        HostHangs, SshUnreachable, SshDisconnected, SshProtocolError, JumpHostFailed, HostKeyChanged, HostKeyMissing,
        HostKeyMalformed, AuthenticationFailed, CredentialMissing, CredentialMalformed, CredentialUnsupported,
        CredentialTooCostly, PassphraseRequired, WrongPassphrase, SudoRefused, NotRoot, ShellUnavailable,
        CommandRefused, TunnelRefused, ScriptFailed, UnreadableAnswer, DuplicateAddress, DuplicateMachineID,
        DuplicateHostname, Occupied, Orphaned, MachineGone, MarkerMissing, ClaimedTwice, NotReleased, NotReset,
        LastControlPlane, ResetFailed, BMCUnreachable, BMCError, BMCUnusable, BMCCertificateChanged,
        BMCCertificateUntrusted, BMCCredentialMissing, BMCCredentialMalformed, BMCLoginRefused, BMCMissing,
        BMCMisconfigured, BMCSystemUnknown, DuplicateBMC, PowerActionRefused, PowerActionFailed, ReinstallRefused,
        FencingFailed, ReinstallWaits, MediaNotConfigured, InstallerUnavailable, InstallerWrong, InstallerUnsuitable,
        InstallationAnswersUnfit, VirtualMediaRefused, InstallationMediaRefused, InstallationPowerRefused,
        InstallationBMCSilent, NoMatchingDisk, SeveralMatchingDisks, InstallerFailed, InstallerSilent,
        InstalledSystemSilent, InstallationCancelled, InstallationUnreadable,
    }
    // Hypervisor
    Normal {
        Connecting, GatewayAnswers, AllKnown, EndingGivenUp, Paused,
    }
    // Hypervisor
    Warning {
        HypervisorUnreachable, CertificateUnknown, Unauthorized, TokenExpired, GatewayRefused, LibvirtUnavailable,
        GivenUpUnreadable,
    }
    // Machine
    Normal {
        Starting, Claiming, TakingHost, ClusterDeleting, VersionSkew, LeavingHypervisor, FetchingImage,
        ImageNotReady, CreatingVirtualMachine, InsufficientCapacity, WaitingForAddress, WaitingForSsh,
        VirtualMachineOff, VirtualMachineCrashed, VirtualMachinePaused, Preparing, KubeadmInit, KubeadmJoin, KubeadmUpgrade, KubeletUpdate, KubeadmAddons,
        AddressChanging, Updating, WaitingForCertificates, WaitingForControlPlane, NodeNotReady, TakingTurn, WaitingForTurn, DeletingOldNode,
        WaitingForNode, Ignored, ComponentUnknown, Draining, Drained, DrainSkipped, DrainStopped, WaitingForHook, WaitingForVolumes, WaitingForClusterProfile, WaitingForWorkers, Releasing, WaitingForHost, Finishing,
        HostOff, HostFenced, HostRetained,
    }
    // Machine
    Warning {
        ClusterLabelMissing, ClusterMissing, ClusterInvalid, MachineClassMissing, InvalidConfiguration,
        UnsupportedVersion, NoMatchingHost, NoHostAvailable, NoMatchingHypervisor, NoHypervisorAvailable,
        HypervisorMissing, GivenUpFull, GatewayOutdated, ImageFailed, ImageChecksumDiffers, InvalidSpec, SpecDiffers,
        NameTaken, ImageDiffers, StorageInactive, StorageFull, VirtualMachineUnknown, VirtualMachineGone, KeysMissing, HostLost, ClaimMoved, PlaceInDoubt, HypervisorMoved, ProviderIDNotOwn, ProviderIDContested,
        PrepareFailed, KubeadmInitFailed, KubeadmJoinFailed, PostKubeadmCommandsFailed, AddressFailed, UpdateFailed, KubeadmAddonsFailed, TurnInDoubt,
        ControlPlaneInDoubt, InitRecordMissing, ControlPlaneJoinUnsupported, EndpointMissing, NodeNameTaken, NodeGone, NodeUnknown,
        ApiUnreachable, SettingsDiffer, SettingsSetBack, KubeletVersionDiffers, WaitsForDeletion, OtherMachine, SimulatedFailure,
        ComponentUnhealthy, DrainBlocked, DrainTimedOut, PodsUnconfirmed, VolumeDetachTimedOut, WaitingForApi, ClusterInDoubt, Released, HostUnreachable,
    }
    // Cluster
    Normal {
        Making, MemberChanging, MemberRemoved, WaitingForMachine, Initializing, ExternalControlPlane, NotAskedYet, Applying, WaitingForKinds,
        WaitingForMachines, WithdrawingProfile, Withdrawing, Withdrawn, BeingDeleted,
    }
    // Cluster
    Warning {
        EtcdCorrupt, EtcdNoSpace, EtcdUnreachable, MemberUnhealthy, MemberUnknown, MemberWithoutMachine, QuorumAtRisk, QuorumLost, TooFewMembersAnswer, KubeconfigUnusable, Malformed, Lost, Replaced, NoControlPlaneMachine, TurnHolderGone, ReadyzFailed, Refused,
        DefinitionMissing, NamespaceNotAllowed, SecretTaken, ForeignProfile,
    }
    // MachineSet and MachineDeployment
    Normal {
        RollingOut, CreatingMachines, DeletingMachines, WaitingForDeletion, CreationDisabled, MinimumReplicasUnavailable,
        PausedByAnnotation, PausedBySpec,
    }
    // MachineSet and MachineDeployment
    Warning {
        UnhealthyMachines, ProgressDeadlineExceeded, NeedsReplacement, NotAdopted,
    }
    // what is well
    Normal {
        AllReady, Available, Clean, Installed, Ready, Answers, Applied, BMCAnswers, Bootstrapped, Complete, HostClaimed,
        Initialized, MembersHealthy, MachineSetUpdated, Managed, MinimumReplicasAvailable, NodeReady, NotPaused, NotRollingOut,
        NotScalingDown, NotScalingUp, PoweredOn, Present, Published, ReadyzPassed, Valid, VersionsEqual,
    }
}

impl Reason {
    /// The reason of this name; `None` for one that this release does not have.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.as_str() == text)
    }

    /// Whether an SSH server answers, but refuses the login or the commands that Tatara needs.
    pub fn is_refused_login(self) -> bool {
        matches!(
            self,
            Self::AuthenticationFailed
                | Self::SudoRefused
                | Self::NotRoot
                | Self::ShellUnavailable
                | Self::CommandRefused
        )
    }

    /// Whether the desired state cannot be reached before a person changes something: a mistake in a manifest, in a Secret
    /// or on the server, or a time limit that has passed. What a retry may resolve, or an object that is applied later, does
    /// not count.
    pub fn is_stalled(self) -> bool {
        STALLED.contains(&self)
    }

    /// Whether what is on a host belongs to another, or nobody knows to whom: the host is left alone.
    pub fn is_of_strange_host(self) -> bool {
        matches!(self, Self::Occupied | Self::Orphaned)
    }

    /// Whether it says that the records of a control plane contradict each other.
    pub fn is_doubt(self) -> bool {
        matches!(self, Self::TurnInDoubt | Self::ControlPlaneInDoubt)
    }
}

/// Reasons that last until a person changes something, by kind: [`Reason::is_stalled`].
const STALLED: &[Reason] = &[
    // any kind
    Reason::Unreadable,
    // Host
    Reason::HostKeyChanged,
    Reason::HostKeyMissing,
    Reason::HostKeyMalformed,
    Reason::AuthenticationFailed,
    Reason::CredentialMalformed,
    Reason::CredentialUnsupported,
    Reason::CredentialTooCostly,
    Reason::PassphraseRequired,
    Reason::WrongPassphrase,
    Reason::SudoRefused,
    Reason::NotRoot,
    Reason::ShellUnavailable,
    Reason::CommandRefused,
    Reason::TunnelRefused,
    Reason::DuplicateAddress,
    Reason::DuplicateMachineID,
    Reason::DuplicateHostname,
    Reason::Occupied,
    Reason::Orphaned,
    Reason::MachineGone,
    Reason::MarkerMissing,
    Reason::ClaimedTwice,
    Reason::NotReleased,
    Reason::LastControlPlane,
    Reason::BMCCertificateChanged,
    Reason::BMCCertificateUntrusted,
    Reason::BMCCredentialMalformed,
    Reason::BMCLoginRefused,
    Reason::BMCMissing,
    Reason::BMCMisconfigured,
    Reason::BMCSystemUnknown,
    Reason::DuplicateBMC,
    Reason::ReinstallRefused,
    Reason::MediaNotConfigured,
    Reason::InstallerUnavailable,
    Reason::InstallerWrong,
    Reason::InstallerUnsuitable,
    Reason::InstallationAnswersUnfit,
    Reason::InstallationMediaRefused,
    Reason::InstallationPowerRefused,
    Reason::InstallationBMCSilent,
    Reason::NoMatchingDisk,
    Reason::SeveralMatchingDisks,
    Reason::InstallerFailed,
    Reason::InstallerSilent,
    Reason::InstalledSystemSilent,
    Reason::InstallationCancelled,
    Reason::InstallationUnreadable,
    // Hypervisor
    Reason::CertificateUnknown,
    Reason::Unauthorized,
    Reason::TokenExpired,
    Reason::GivenUpUnreadable,
    // Machine
    Reason::ClusterLabelMissing,
    Reason::InvalidConfiguration,
    Reason::UnsupportedVersion,
    Reason::ProviderIDNotOwn,
    Reason::ProviderIDContested,
    Reason::GatewayOutdated,
    Reason::InvalidSpec,
    Reason::SpecDiffers,
    Reason::NameTaken,
    Reason::ImageDiffers,
    Reason::VirtualMachineGone,
    Reason::KeysMissing,
    Reason::HostLost,
    Reason::ClaimMoved,
    Reason::PlaceInDoubt,
    Reason::HypervisorMoved,
    Reason::TurnInDoubt,
    Reason::ControlPlaneInDoubt,
    Reason::ControlPlaneJoinUnsupported,
    Reason::EndpointMissing,
    Reason::NodeNameTaken,
    Reason::NodeGone,
    Reason::KubeletVersionDiffers,
    Reason::Released,
    // Cluster
    Reason::KubeconfigUnusable,
    Reason::Malformed,
    Reason::Lost,
    Reason::Replaced,
    Reason::TurnHolderGone,
    // MachineSet and MachineDeployment
    Reason::ProgressDeadlineExceeded,
    Reason::NeedsReplacement,
    Reason::NotAdopted,
];

word!(Reason);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_person_is_warned_of() {
        let stalled = Reason::ALL.iter().filter(|reason| reason.is_stalled());
        for reason in stalled {
            assert_eq!(reason.severity(), Severity::Warning, "{reason}");
        }
    }
}
