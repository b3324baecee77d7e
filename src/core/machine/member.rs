//! Which etcd member a Machine has, and who else is in the control plane.

use super::observed::{Lookup, Observed, Placement};
use super::units::node_name;
use crate::core::control_plane::{Member, Members};
use crate::core::node::JobKind;
use crate::core::proof::{MemberProof, MemberState, TurnIsOver};

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
    /// The job that is followed on its host now, of those that change a member.
    pub runs: Option<JobKind>,
}

impl Observed {
    /// Its etcd member: the one with an address of its place, or with the name of its Node. Not one that another
    /// control-plane Machine has: a host that was released may be that one's by now.
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

    /// Evidence about its etcd member, from this list.
    pub fn member_proof(&self, members: &Members) -> Option<MemberProof> {
        let (addresses, names) = self.member_signs();
        MemberProof::of(self.uid(), (&addresses, &names), members)
    }

    /// Why a turn of the Machine is over that is later than init: its etcd member votes, by the list as last read.
    pub fn member_votes(&self) -> Option<TurnIsOver> {
        let Lookup::Known(members) = &self.cluster.as_ref()?.etcd else {
            return None;
        };
        let proof = self.member_proof(members)?;
        (proof.state() == MemberState::Votes).then_some(TurnIsOver::Member(proof))
    }
}
