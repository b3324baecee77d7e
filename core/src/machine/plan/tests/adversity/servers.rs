//! The servers: what is on them, and what they say of it.

use super::*;

/// What is on a server.
#[derive(Clone, Default)]
pub(super) struct Server {
    pub(super) silent: bool,
    pub(super) marker: Option<Which>,
    pub(super) initialized: bool,
    pub(super) joined: bool,
    /// Units: whose, which, and how it ended.
    pub(super) units: Vec<(Which, JobKind, Option<bool>)>,
    /// `kubeadm init` was begun since the last reset.
    pub(super) began: bool,
}

impl Server {
    /// The node of this Machine runs on it.
    pub(super) fn runs(&self, machine: Which) -> bool {
        self.marker == Some(machine) && (self.initialized || self.joined)
    }

    pub(super) fn says(&self) -> Observation {
        let mut seen = unmarked(Vec::new());
        seen.kubelet_active = self.initialized || self.joined;
        if let Some(machine) = self.marker {
            seen.owner = Ownership::Owner(Owner {
                marker: marker_of(machine),
                initialized: self.initialized,
                joined: self.joined,
            });
        }
        let units = self.units.iter().map(|(machine, name, end)| UnitStatus {
            retried: None,
            job: Job::new(*name, UIDS[*machine]),
            identity: String::new(),
            state: match end {
                None => UnitState::Running(step("one")),
                Some(true) => UnitState::Succeeded,
                Some(false) => failure("no"),
            },
        });
        seen.units = units.collect();
        seen
    }
}

/// What was prepared is what is wanted.
pub(super) fn same_preparation(observed: &mut Observed) {
    let Ok(wanted) = units::prepare(observed).map(|unit| unit.identity) else {
        return;
    };
    let Placement::Held(Infrastructure {
        contact: Contact::Seen(seen),
        ..
    }) = &mut observed.placement
    else {
        return;
    };
    for unit in &mut seen.units {
        unit.identity.clone_from(&wanted);
    }
}

pub(super) fn consumer_ref((machine, releasing): Claim) -> Value {
    let marker = marker_of(machine);
    json!({ "name": marker.machine, "uid": marker.uid, "cluster": "a", "releasing": releasing })
}

pub(super) fn marker_of(machine: Which) -> Marker {
    marker(&format!("m-{machine}"), UIDS[machine])
}
