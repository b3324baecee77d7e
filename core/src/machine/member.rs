//! Which etcd member a Machine has, and who else is in the control plane.

use super::observed::{Contact, Infrastructure, Lookup, Observed, Placement};
use super::units::node_name;
use crate::control_plane::{Member, Members};
use crate::node::{JobKind, Observation};
use crate::proof::{MemberProof, MemberState, TurnIsOver};

/// Another control-plane Machine of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPlaneMachine {
    /// Its name.
    pub name: String,
    /// Its address for other nodes, if it has a place.
    pub address: Option<String>,
    /// Identity of the last unit of kind Address that was seen to have succeeded on its host.
    pub applied: Option<String>,
    /// It is being deleted.
    pub leaves: bool,
    /// The job that runs on its host, as far as this process knows, of those that change a member.
    pub runs: Option<JobKind>,
    /// What its host showed when this process asked it last.
    pub look: LastLook,
}

/// What the host of a control plane showed when this process asked it last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastLook {
    /// It was not asked yet. A management cluster that was restored from a backup may know nothing
    /// of what runs there.
    #[default]
    Never,
    /// It has not answered yet. It is asked until it does: what holds nobody up meanwhile is a dead
    /// host, whose member does not serve either, so that every change of another is judged without
    /// it. One whose member serves may run kubeadm.
    Silent,
    /// No job that changes a member, or it has no host that could be asked.
    Idle,
    /// This job ran.
    Runs(JobKind),
}

impl LastLook {
    /// The job that ran.
    pub fn job(self) -> Option<JobKind> {
        match self {
            Self::Runs(kind) => Some(kind),
            Self::Never | Self::Silent | Self::Idle => None,
        }
    }
}

impl Observed {
    /// Its etcd member: the one with an address of its place, or with the name of its Node. Not one
    /// that another control-plane Machine has: a host that was released may be that one's by now.
    pub fn member<'a>(&self, members: &'a Members) -> Option<&'a Member> {
        let (addresses, names) = self.member_signs();
        let others = self.cluster.iter().flat_map(|c| &c.other_control_planes);
        let member = members.of(&addresses, &names)?;
        let is_others = others
            .filter_map(|other| other.address.as_deref())
            .any(|address| member.is_at(address) && !addresses.contains(&address));
        (!is_others).then_some(member)
    }

    /// By what its etcd member is told: addresses and names.
    pub fn member_signs(&self) -> (Vec<&str>, Vec<&str>) {
        let status = self.machine.status.as_ref();
        let mut addresses: Vec<&str> = self.own_address.as_deref().into_iter().collect();
        let mut names = Vec::new();
        if let Placement::Held(held) = &self.placement {
            addresses.extend(held.address.as_deref());
            names.push(node_name(self, held));
        }
        names.extend(status.and_then(|status| status.node_ref.as_ref()?.name.as_deref()));
        (addresses, names)
    }

    /// The job that changes a member and runs on its host, by what that shows. After a join, the
    /// commands of the user change none.
    pub fn job_of_member(&self, seen: &Observation) -> Option<JobKind> {
        let is_joined = seen
            .owner
            .of(&self.marker)
            .is_some_and(|owner| owner.joined);
        let is_running = |kind: &JobKind| {
            seen.runs(&self.marker.job(*kind)) && !(is_joined && *kind == JobKind::Join)
        };
        JobKind::OF_MEMBER.into_iter().find(is_running)
    }

    /// Whether its host shows that it began to join: a management cluster that was restored from a
    /// backup may not know.
    pub fn shows_join(&self) -> bool {
        let Placement::Held(Infrastructure {
            contact: Contact::Seen(seen),
            ..
        }) = &self.placement
        else {
            return self.last_look.job().is_some();
        };
        let owner = seen.owner.of(&self.marker);
        owner.is_some_and(|owner| owner.joined)
            || seen.job(&self.marker.job(JobKind::Join)).is_some()
    }

    /// Takes in what its host showed in this pass.
    pub fn learn_look(&mut self) {
        let contact = match &self.placement {
            Placement::Held(held) => Some(&held.contact),
            Placement::None(_) => None,
        };
        let before = self.last_look;
        let may_come = self.is_connecting();
        self.last_look = match (contact, before) {
            (Some(Contact::Seen(seen)), _) => {
                let runs = self.job_of_member(seen);
                runs.map_or(LastLook::Idle, LastLook::Runs)
            }
            (Some(Contact::Unreachable { .. }), LastLook::Never) if !may_come => LastLook::Silent,
            // its gateway does not tell where it is
            (Some(Contact::NotAsked), LastLook::Never) if !may_come && self.is_unheard() => {
                LastLook::Silent
            }
            // its job is followed, it is not begun, or there is nothing that could be asked
            (_, LastLook::Never) if !may_come => LastLook::Idle,
            _ => before,
        };
    }

    /// Whether its virtual machine can be asked as soon as its gateway has answered.
    fn is_connecting(&self) -> bool {
        let machine = self.virtual_machine.as_ref();
        machine.is_some_and(|machine| machine.is_connecting)
    }

    /// Whether the gateway of its virtual machine does not answer. A job that is followed is known
    /// all the same.
    fn is_unheard(&self) -> bool {
        let machine = self.virtual_machine.as_ref();
        self.follow.is_none() && machine.is_some_and(|machine| machine.told.is_err())
    }

    /// Evidence about its etcd member, from this list.
    pub fn member_proof(&self, members: &Members) -> Option<MemberProof> {
        let (addresses, names) = self.member_signs();
        MemberProof::of(self.uid(), (&addresses, &names), members)
    }

    /// Why a turn of the Machine is over that is later than init: its etcd member votes, by the
    /// list as last read.
    pub fn member_votes(&self) -> Option<TurnIsOver> {
        let Lookup::Known(members) = &self.cluster.as_ref()?.etcd else {
            return None;
        };
        let proof = self.member_proof(members)?;
        (proof.state() == MemberState::Votes).then_some(TurnIsOver::Member(proof))
    }
}
