//! How soon a plan is made again where no event tells what it waits for. A plan says what it waits
//! for, by the reason of a finding; here each reason has who is asked about it, and that has how
//! soon. What ends at a known time is no such wait: the plan names the time ([`Next::at`]), and the
//! sooner of the two counts.

use std::time::Duration;

use crate::Next;
use crate::api::conditions::Reason;

/// A server that something waits for, over SSH: it has no way to tell that it answers, or what is
/// on it now.
pub const SERVER: Duration = Duration::from_secs(10);
/// A server that nothing waits for, free or in use: there is no event when it fails.
pub const STANDING: Duration = Duration::from_mins(1);
/// A BMC that boots a server, or refuses to; and the image that it is to boot.
pub const BMC: Duration = Duration::from_secs(10);
/// The power of a server that installs: it switches itself off at the end.
pub const POWER: Duration = Duration::from_secs(15);
/// A virtual machine that starts: its SSH server comes up within seconds.
pub const GUEST: Duration = Duration::from_secs(2);
/// A gateway that did not do what it was asked for, such as to end a virtual machine.
pub const GATEWAY: Duration = Duration::from_secs(10);
/// Which Host or Hypervisor has a Machine, where their records contradict each other: no change of
/// one wakes a Machine that only its marker, or its keys, connect with it.
pub const CLAIM: Duration = Duration::from_secs(30);
/// The API of a workload cluster: whether it is ready, and what is there.
pub const WORKLOAD_API: Duration = Duration::from_secs(10);
/// A Node that was deleted: its delete event wakes its former Machine, not the one that takes its
/// name.
pub const OLD_NODE: Duration = Duration::from_secs(1);
/// etcd, of which no list of members could be read, or which refused a change of them.
pub const ETCD: Duration = Duration::from_secs(10);
/// A refused eviction, as often as `kubectl drain` tries. The watch reports a deleted pod at once.
pub const EVICTION: Duration = Duration::from_secs(5);
/// Pods that came to the Node of a Machine which was drained, and is held by a hook.
pub const HOOK: Duration = Duration::from_secs(30);
/// The turn of a control plane. Who gets it is woken; not everything that it waits for is an
/// object.
pub const TURN: Duration = Duration::from_secs(10);
/// Other Machines of the cluster: an edit of one wakes no other.
pub const NEIGHBOUR: Duration = Duration::from_secs(10);
/// Machines that a deletion waits for: one whose label was edited away wakes neither its Cluster
/// nor another Machine.
pub const MACHINES: Duration = Duration::from_secs(30);
/// An API server that refused a write: what it lacks, such as a namespace, may be created
/// meanwhile.
pub const REFUSAL: Duration = Duration::from_secs(30);
/// What an action found, and no pass reads: it may change without an event.
pub const FOUND: Duration = Duration::from_secs(30);

/// Who is asked about what a plan waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nobody: an event tells. It is in a watch, or what the plan itself does, or the end of a job
    /// that is followed; or a person edits an object.
    Nobody,
    /// A server, over SSH: whether it answers, and what is on it.
    Server,
    /// A server that its Machine has released, or its BMC, by that Machine: whether it proves that
    /// nothing runs there.
    Released,
    /// A server, by its Host alone: whether it still is as it was found.
    Standing,
    /// A server on which a step runs that nobody follows.
    Step,
    /// The BMC of a server whose operating system is installed.
    Boot,
    /// The same, while the installer runs.
    Power,
    /// A virtual machine that starts.
    Guest,
    /// Hosts and Hypervisors: which of them has a Machine.
    Claim,
    /// The API of the workload cluster.
    Api,
    /// The same, for a Node that has the name of a Machine's own.
    Namesake,
    /// The same, for a Node that was just deleted.
    OldNode,
    /// etcd, for a list of its members.
    Etcd,
    /// etcd, by the Cluster alone, which wakes its Machines with news.
    Members,
    /// The eviction API, and the volumes of what it evicted.
    Eviction,
    /// Machines that are on their way out.
    Machines,
    /// An API server that refused a write.
    Refusal,
}

impl Asked {
    /// How soon a Machine asks again.
    pub const fn by_machine(self) -> Next {
        Next::After(match self {
            Self::Server | Self::Released => SERVER,
            Self::Guest => GUEST,
            Self::Claim => CLAIM,
            Self::Api | Self::Namesake => WORKLOAD_API,
            Self::OldNode => OLD_NODE,
            Self::Etcd => ETCD,
            Self::Eviction => EVICTION,
            _ => return Next::OnChange,
        })
    }

    /// How soon a Host asks again.
    pub const fn by_host(self) -> Next {
        Next::After(match self {
            Self::Server | Self::Standing | Self::Claim => STANDING,
            Self::Step => SERVER,
            Self::Boot => BMC,
            Self::Power => POWER,
            _ => return Next::OnChange,
        })
    }

    /// How soon a Cluster asks again.
    pub const fn by_cluster(self) -> Next {
        Next::After(match self {
            Self::Etcd | Self::Members => ETCD,
            Self::Machines => MACHINES,
            Self::Refusal => REFUSAL,
            _ => return Next::OnChange,
        })
    }
}

/// Reasons by who is asked about them.
macro_rules! asked {
    ($($asked:ident { $($reason:ident),* $(,)? })*) => {
        impl Asked {
            /// Who is asked about what has this reason. The compiler wants a row for each.
            pub const fn about(reason: Reason) -> Self {
                match reason {
                    $($(Reason::$reason)|* => Self::$asked,)*
                }
            }
        }
    };
}

asked! {
    Server {
        SshBusy, HostHangs, SshUnreachable, SshDisconnected, SshProtocolError, JumpHostFailed,
        HostKeyChanged, HostKeyMissing, HostKeyMalformed, AuthenticationFailed, CredentialMissing,
        CredentialMalformed, CredentialUnsupported, CredentialTooCostly, PassphraseRequired,
        WrongPassphrase, SudoRefused, NotRoot, ShellUnavailable, CommandRefused, TunnelRefused,
        ScriptFailed, UnreadableAnswer, HostOff, KeysMissing, WaitingForAddress, Occupied, Orphaned,
        MarkerMissing,
    }
    Released { WaitingForHost }
    Standing {
        Available, Claimed, ClaimedTwice, DuplicateAddress, DuplicateMachineID, DuplicateHostname,
        Fenced, LastControlPlane, MachineGone, Maintenance, NotReleased, ReinstallWaits, Retained,
        Retaining,
    }
    Step { WaitingForStep }
    Boot {
        BootingInstalled, BootingInstaller, FetchingInstaller, MediaNotConfigured,
        StartingInstalled,
    }
    Power { InstallerRuns }
    Guest { WaitingForSsh }
    Claim { ClaimMoved, HostLost, HypervisorMoved, NotReset }
    Api { ClusterInDoubt, ProviderIDContested, WaitingForApi }
    Namesake { NodeNameTaken }
    OldNode { DeletingOldNode }
    Etcd { EtcdUnreachable }
    Members { MemberChanging, MemberWithoutMachine }
    Eviction { Draining, DrainBlocked, WaitingForVolumes }
    Machines { WaitingForMachines }
    Refusal { Refused }
    Nobody {
        Unreadable, Held, NamespaceHeld, PassFailed, ProviderUnknown, InUse, Resetting, Freeing,
        NotResetYet, Deleting, PowerUnknown, SwitchingOn, SwitchedOn, SwitchingOff, SwitchedOff,
        Fencing, PoweredOff, InstallationBegins, InstallerBooted, InstallationEnds, ResetFailed,
        BMCUnreachable, BMCError, BMCUnusable, BMCCertificateChanged, BMCCertificateUntrusted,
        BMCCredentialMissing, BMCCredentialMalformed, BMCLoginRefused, BMCMissing, BMCMisconfigured,
        BMCSystemUnknown, DuplicateBMC, PowerActionRefused, PowerActionFailed, ReinstallRefused,
        FencingFailed, InstallerUnavailable, InstallerWrong, InstallerUnsuitable,
        InstallationAnswersUnfit, VirtualMediaRefused, InstallationMediaRefused,
        InstallationPowerRefused, InstallationBMCSilent, NoMatchingDisk, SeveralMatchingDisks,
        InstallerFailed, InstallerSilent, InstalledSystemSilent, InstallationCancelled,
        InstallationUnreadable, Connecting, GatewayAnswers, AllKnown, EndingGivenUp, Paused,
        HypervisorUnreachable, CertificateUnknown, Unauthorized, TokenExpired, GatewayRefused,
        LibvirtUnavailable, GivenUpUnreadable, Starting, Claiming, TakingHost, ClusterDeleting,
        VersionSkew, LeavingHypervisor, FetchingImage, ImageNotReady, CreatingVirtualMachine,
        InsufficientCapacity, VirtualMachineOff, VirtualMachineCrashed, VirtualMachinePaused,
        Preparing, KubeadmInit, KubeadmJoin, KubeadmUpgrade, KubeletUpdate, KubeadmAddons,
        AddressChanging, Updating, WaitingForCertificates, WaitingForControlPlane, NodeNotReady,
        TakingTurn, WaitingForTurn, WaitingForNode, Ignored, ComponentUnknown, Drained,
        DrainSkipped, DrainStopped, WaitingForHook, WaitingForClusterProfile, WaitingForWorkers,
        Releasing, Finishing, HostFenced, HostRetained, ClusterLabelMissing, ClusterMissing,
        ClusterInvalid, MachineClassMissing, InvalidConfiguration, UnsupportedVersion,
        NoMatchingHost, NoHostAvailable, NoMatchingHypervisor, NoHypervisorAvailable,
        HypervisorMissing, GivenUpFull, GatewayOutdated, ImageFailed, ImageChecksumDiffers,
        InvalidSpec, SpecDiffers, NameTaken, ImageDiffers, StorageInactive, StorageFull,
        VirtualMachineUnknown, VirtualMachineGone, PlaceInDoubt, ProviderIDNotOwn, PrepareFailed,
        KubeadmInitFailed, KubeadmJoinFailed, PostKubeadmCommandsFailed, AddressFailed,
        UpdateFailed, KubeadmAddonsFailed, TurnInDoubt, ControlPlaneInDoubt, InitRecordMissing,
        ControlPlaneJoinUnsupported, EndpointMissing, NodeGone, NodeUnknown, ApiUnreachable,
        SettingsDiffer, SettingsSetBack, KubeletVersionDiffers, WaitsForDeletion, OtherMachine,
        SimulatedFailure, ComponentUnhealthy, DrainTimedOut, PodsUnconfirmed, VolumeDetachTimedOut,
        Released, HostUnreachable, Making, MemberRemoved, WaitingForMachine, Initializing,
        ExternalControlPlane, NotAskedYet, Applying, WaitingForKinds, WithdrawingProfile,
        Withdrawing, Withdrawn, BeingDeleted, EtcdCorrupt, EtcdNoSpace, MemberUnhealthy,
        MemberUnknown, QuorumAtRisk, QuorumLost, TooFewMembersAnswer, KubeconfigUnusable, Malformed,
        Lost, Replaced, NoControlPlaneMachine, TurnHolderGone, ReadyzFailed, DefinitionMissing,
        NamespaceNotAllowed, SecretTaken, ForeignProfile, RollingOut, CreatingMachines,
        DeletingMachines, WaitingForDeletion, CreationDisabled, MinimumReplicasUnavailable,
        PausedByAnnotation, PausedBySpec, UnhealthyMachines, ProgressDeadlineExceeded,
        NeedsReplacement, NotAdopted, AllReady, Clean, Installed, Ready, Answers, Applied,
        BMCAnswers, Bootstrapped, Complete, HostClaimed, Initialized, MembersHealthy,
        MachineSetUpdated, Managed, MinimumReplicasAvailable, NodeReady, NotPaused, NotRollingOut,
        NotScalingDown, NotScalingUp, PoweredOn, Present, Published, ReadyzPassed, Valid,
        VersionsEqual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Next::{After, OnChange};
    use Reason as R;

    #[test]
    fn what_no_event_tells_is_asked_again_by_whom_it_concerns() {
        // a reason, and how soon it is looked at by a Machine, a Host and a Cluster
        for (reason, machine, host, cluster) in [
            (R::SshUnreachable, After(SERVER), After(STANDING), OnChange),
            (R::Occupied, After(SERVER), After(STANDING), OnChange),
            (R::WaitingForHost, After(SERVER), OnChange, OnChange),
            (R::Available, OnChange, After(STANDING), OnChange),
            (R::Claimed, OnChange, After(STANDING), OnChange),
            (R::WaitingForStep, OnChange, After(SERVER), OnChange),
            (R::BootingInstaller, OnChange, After(BMC), OnChange),
            (R::InstallerRuns, OnChange, After(POWER), OnChange),
            (R::HostLost, After(CLAIM), After(STANDING), OnChange),
            (R::WaitingForApi, After(WORKLOAD_API), OnChange, OnChange),
            (R::DrainBlocked, After(EVICTION), OnChange, OnChange),
            (R::EtcdUnreachable, After(ETCD), OnChange, After(ETCD)),
            (R::MemberChanging, OnChange, OnChange, After(ETCD)),
            (R::WaitingForMachines, OnChange, OnChange, After(MACHINES)),
            // events tell the end of these
            (R::WaitingForControlPlane, OnChange, OnChange, OnChange),
            (R::WaitingForHook, OnChange, OnChange, OnChange),
            (R::KubeadmJoin, OnChange, OnChange, OnChange),
            (R::Paused, OnChange, OnChange, OnChange),
        ] {
            let asked = Asked::about(reason);
            let found = (asked.by_machine(), asked.by_host(), asked.by_cluster());
            assert_eq!(found, (machine, host, cluster), "{reason}");
        }
    }

    #[test]
    fn a_server_that_refuses_a_login_tells_nobody_when_it_no_longer_does() {
        let refused = R::ALL.iter().filter(|reason| reason.is_refused_login());
        for reason in refused {
            assert_eq!(Asked::about(*reason), Asked::Server, "{reason}");
        }
    }

    #[test]
    fn a_machine_that_is_well_asks_nobody() {
        for reason in [
            R::HostClaimed,
            R::Bootstrapped,
            R::NodeReady,
            R::VersionsEqual,
            R::Answers,
            R::NotPaused,
        ] {
            assert_eq!(Asked::about(reason).by_machine(), OnChange, "{reason}");
        }
    }
}
