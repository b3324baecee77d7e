//! What speaks for and against a control plane on the host of a Machine, as far as objects show it,
//! and what a person has to have seen there who knows better. Pure.

use kube::ResourceExt;

use super::known::Candidate;
use crate::cli::place;
use tatara_core::remedy;

/// How to see on a host whether it has a control plane.
pub const LOOK: &str =
    "ls /etc/kubernetes/manifests/etcd.yaml; pidof etcd kubeadm; cat /var/lib/tatara/owner.json";

/// What speaks against a correction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaks {
    /// What is seen.
    pub why: String,
    /// What a person has to have seen who overrules that.
    pub only_if: String,
}

/// Why a Machine may run `kubeadm init`, or have run it, that may have had the turn. Its objects
/// cannot prove the contrary: they may be those of a backup, and what they say of a host may be
/// old.
pub fn may_run(candidate: &Candidate) -> Speaks {
    let (called, place) = (candidate.called(), place(candidate));
    let why = if candidate.shows_init {
        succeeded(candidate)
    } else if let Some(machine) = candidate.machine {
        let namespace = machine.namespace().unwrap_or_default();
        let begun = if candidate.is_begun() {
            "kubeadm was started for it"
        } else {
            "nothing records that kubeadm was started for it, which may be old, as after a restore"
        };
        format!(
            "{called} may run kubeadm init, or have run it: {begun}, and {place}. If what is there is not needed, delete that Machine, and its turn is returned once its host is reset: {}",
            remedy::delete_machine(&namespace, &machine.name_any())
        )
    } else {
        format!(
            "{called} may have left kubeadm init running: {place}{}",
            left(candidate)
        )
    };
    Speaks {
        why,
        only_if: format!(
            "you have seen that no etcd and no kubeadm runs on the host of {called}, or its disk is erased or destroyed: a host that is off may start again"
        ),
    }
}

/// Why a Machine that is no longer to be recorded may have the control plane, and not `instead`.
/// Nothing where that serves, and this one was never begun, or nothing of it is left.
pub fn may_have(candidate: &Candidate, instead: &Candidate) -> Option<Speaks> {
    let (called, place) = (candidate.called(), place(candidate));
    let why = if candidate.shows_init {
        succeeded(candidate)
    } else if candidate.machine.is_some() {
        if instead.serves() && !candidate.is_begun() {
            return None;
        }
        let begun = if candidate.is_begun() {
            "kubeadm was started for it"
        } else {
            "it is recorded"
        };
        format!("{called} may have the control plane: {begun}, and {place}")
    } else {
        if instead.serves() && candidate.host.is_none() {
            return None;
        }
        format!(
            "{called} may have left the control plane running: {place}{}",
            left(candidate)
        )
    };
    Some(Speaks {
        why,
        only_if: format!(
            "you have seen that no kubeadm runs on the host of {called}, and no etcd, but for a member of the one on the host of {}; or its disk is erased or destroyed: a host that is off may start again",
            instead.called()
        ),
    })
}

/// Why it is not shown that a Machine has the control plane.
pub fn is_made(candidate: &Candidate) -> Option<Speaks> {
    if candidate.is_recorded || candidate.had_node() || candidate.shows_init {
        return None;
    }
    let (called, place) = (candidate.called(), place(candidate));
    let begun = if candidate.machine.is_some() {
        "nothing shows that kubeadm succeeded there"
    } else {
        "no Machine, Host, Cluster or Secret shows that it made one"
    };
    Some(Speaks {
        why: format!("{called} may have no control plane: {begun}, and {place}"),
        only_if: format!(
            "you have seen that etcd runs on the host of {called}, and that owner.json there has its UID and \"initialized\":true"
        ),
    })
}

/// Another host shows a control plane.
pub fn made_elsewhere(other: &Candidate) -> Speaks {
    Speaks {
        why: succeeded(other),
        only_if: format!(
            "you have seen that the control plane that is in use does not run on the host of {}",
            other.called()
        ),
    }
}

fn succeeded(candidate: &Candidate) -> String {
    format!(
        "kubeadm init succeeded on the host of {}, as the marker there says, and {}",
        candidate.called(),
        place(candidate)
    )
}

/// What is to be done of the host of a Machine that does not exist.
fn left(candidate: &Candidate) -> String {
    let Some(host) = candidate.host else {
        return ", which proves nothing: a server runs on without its Host, and a virtual machine has none".into();
    };
    format!(
        ". The message of Host {} says how it is reset, which returns the turn",
        host.name_any()
    )
}

/// Where it is, and whether that answers.
pub fn place(candidate: &Candidate) -> String {
    if let Some(host) = candidate.host {
        let name = host.name_any();
        let status = host.status.as_ref();
        let conditions = status.map(|status| status.conditions.as_slice());
        return match place::answers(conditions.unwrap_or_default()) {
            Some((true, _)) => format!("its Host {name} has answered the manager"),
            Some((false, _)) => format!("its Host {name} has not answered the manager"),
            None => format!("of its Host {name} it is not known whether it answers"),
        };
    }
    match (candidate.hypervisor, candidate.chosen()) {
        (Some(hypervisor), _) => format!(
            "its virtual machine is on Hypervisor {hypervisor}, which does not look into it"
        ),
        (None, Some(chosen)) => {
            format!("it has neither claim nor marker on Host {chosen}, which it chose")
        }
        (None, None) => "no Host has its claim or its marker".into(),
    }
}
