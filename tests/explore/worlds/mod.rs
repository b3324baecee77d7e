//! The worlds that are explored: how each begins, and what may go wrong in it.

mod setup;

use crate::search::Bounds;
use crate::world::events::Faults;
use crate::world::state::State;
use setup::Setup;

/// A small world.
pub struct World {
    pub name: &'static str,
    /// What it is about, in a line.
    pub about: &'static str,
    pub start: State,
    pub faults: Faults,
    /// How far it is searched, by `make explore` and in `hack/test unit`.
    pub whole: Bounds,
    pub brief: Bounds,
}

const ALL: Bounds = Bounds {
    states: 200_000,
    depth: 1_000,
};

fn brief(states: usize) -> Bounds {
    Bounds {
        states,
        depth: 1_000,
    }
}

/// All of them.
pub fn all() -> Vec<World> {
    vec![join()]
}

/// A second control plane joins the first one.
fn join() -> World {
    let mut setup = Setup::new(2, 2);
    setup.runs(0, 0);
    setup.wants(1, true);
    World {
        name: "join",
        about: "a control plane joins another; its passes and jobs are cut, its host falls silent, it is deleted",
        start: setup.done(),
        faults: Faults {
            cuts: true,
            lag: true,
            jobs: true,
            silence: true,
            deletes: 0b10,
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(400),
    }
}
