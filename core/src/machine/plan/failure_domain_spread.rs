//! How many machines of a cluster a failure domain holds, as the choice of a place compares it.

use std::ops::AddAssign;

use crate::api::Machine;
use crate::api::readable::unreadable;

/// Machines of the chooser's cluster. Compared by those of its own kind first: control planes are
/// spread among themselves, so that workers that fill the other racks do not put them all into one;
/// and workers among themselves, so that a rack that is lost takes as few of them as can be,
/// wherever the control planes are. All together decide among equals: the first worker goes where
/// no control plane is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crowd {
    /// Those of the chooser's kind, and those of which the kind is not known.
    of_kind: usize,
    all: usize,
}

impl Crowd {
    /// Counts a machine of the cluster. `own` and `its` tell whether the chooser and that machine
    /// are control planes. One that is not known may be of the chooser's kind, so it counts as
    /// that.
    pub fn count(&mut self, own: bool, its: Option<bool>) {
        self.all += 1;
        self.of_kind += usize::from(its.is_none_or(|its| its == own));
    }
}

impl AddAssign for Crowd {
    fn add_assign(&mut self, other: Self) {
        self.of_kind += other.of_kind;
        self.all += other.all;
    }
}

/// Whether a Machine is a control plane; `None` for one that cannot be read.
pub fn kind_of(machine: &Machine) -> Option<bool> {
    unreadable(machine)
        .is_none()
        .then(|| machine.is_control_plane())
}
