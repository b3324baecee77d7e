//! The worlds that are explored: how each begins, and what may go wrong in it.

mod setup;

use crate::search::Bounds;
use crate::world::events::Faults;
use crate::world::state::State;
use setup::Setup;
use tatara_core::machine::LastLook;

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

/// More than any of the small worlds has: each is exhausted.
const ALL: Bounds = Bounds {
    states: 5_000_000,
    depth: 1_000,
};

/// How far the large one is explored.
const LARGE: Bounds = Bounds {
    states: 200_000,
    ..ALL
};

fn brief(states: usize) -> Bounds {
    Bounds {
        states,
        depth: 1_000,
    }
}

/// The world of this name.
pub fn named(name: &str) -> World {
    let mut all = all().into_iter();
    all.find(|world| world.name == name)
        .expect("a world of this name")
}

/// All of them.
pub fn all() -> Vec<World> {
    vec![
        init(),
        join(),
        leave(),
        update(),
        beside(),
        settings(),
        orphan(),
        restored(),
        returned(),
        large(),
    ]
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
            deposed: true,
            lag: true,
            jobs: true,
            silence: true,
            deletes: 0b10,
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(150),
    }
}

/// One of three control planes leaves, whose host may be dead.
fn leave() -> World {
    let mut setup = Setup::new(2, 3);
    for which in 0..3 {
        setup.runs(which, which);
    }
    setup.silent(2);
    setup.deleted(2);
    World {
        name: "leave",
        about: "a control plane whose host does not answer is deleted; a person may say that it is gone",
        start: setup.done(),
        faults: Faults {
            cuts: true,
            lag: true,
            jobs: true,
            silence: true,
            gone: 0b100,
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(150),
    }
}

/// Two candidates for the first control plane.
fn init() -> World {
    let mut setup = Setup::new(2, 2);
    setup.wants(0, true);
    setup.wants(1, true);
    World {
        name: "init",
        about: "two candidates for the first control plane, of which one is deleted; people edit turn and record away",
        start: setup.done(),
        faults: Faults {
            cuts: true,
            deposed: true,
            jobs: true,
            silence: true,
            deletes: 0b11,
            forgets: true,
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(150),
    }
}

/// Two control planes are updated, while a third one joins.
fn beside() -> World {
    let mut setup = Setup::new(2, 3);
    setup.prompt();
    setup.runs(0, 0);
    setup.runs(1, 1);
    setup.wants(2, true);
    setup.later(|state| {
        for machine in &mut state.objects.machines[..3] {
            machine.upgrades();
        }
    });
    World {
        name: "beside",
        about: "two control planes move to another version, while a third one joins",
        start: setup.done(),
        faults: Faults {
            cuts: true,
            deposed: true,
            jobs: true,
            deletes: 0b100,
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(150),
    }
}

/// A control plane and a worker follow the settings of their Cluster.
fn settings() -> World {
    let mut setup = Setup::new(2, 2);
    setup.runs(0, 0);
    setup.works(1, 1);
    setup.later(|state| state.objects.wants = 1);
    World {
        name: "settings",
        about: "a control plane and a worker follow settings that were edited",
        start: setup.done(),
        faults: Faults {
            cuts: true,
            deposed: true,
            jobs: true,
            silence: true,
            edits: &[0],
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(150),
    }
}

/// A member of etcd without a Machine, whose server is gone, beside a control plane that joins.
fn orphan() -> World {
    let mut setup = Setup::new(2, 4);
    setup.prompt();
    for which in 0..3 {
        setup.runs(which, which);
    }
    setup.wants(3, true);
    setup.orphaned(2);
    World {
        name: "orphan",
        about: "a member without a Machine, whose server is gone, and a control plane that joins",
        start: setup.done(),
        faults: Faults {
            cuts: true,
            jobs: true,
            deletes: 0b1000,
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(150),
    }
}

/// The management cluster is restored to before its control plane was made, while another one joins.
fn restored() -> World {
    let mut setup = Setup::new(2, 2);
    setup.wants(0, true);
    setup.rounds(3);
    setup.backed_up();
    setup.rounds(30);
    setup.wants(1, true);
    World {
        name: "restored",
        about: "the management cluster is restored to before kubeadm init, while another control plane joins",
        start: setup.done(),
        faults: Faults {
            cuts: true,
            jobs: true,
            silence: true,
            restores: true,
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(150),
    }
}

/// The management cluster is restored to before a control plane was replaced: the former one has the claim of the host again on which
/// its successor runs, and does not exist here.
fn returned() -> World {
    let mut setup = Setup::new(2, 3);
    for which in 0..3 {
        setup.runs(which, which);
    }
    setup.later(|state| {
        let server = &mut state.servers[2];
        server.marker = Some(3);
        for run in server.runs.iter_mut().flatten() {
            run.of = 3;
        }
        if let Some(node) = &mut state.nodes[2] {
            node.of = 3;
        }
        state.memory.look[2] = LastLook::Never;
    });
    World {
        name: "returned",
        about: "a control plane that was replaced exists again after a restore, claims the host of its successor, and is deleted",
        start: setup.done(),
        faults: Faults {
            cuts: true,
            lag: true,
            silence: true,
            deletes: 0b100,
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(150),
    }
}

/// Three control planes move to another version, one joins, and there is a worker.
fn large() -> World {
    let mut setup = Setup::new(2, 5);
    setup.prompt();
    for which in 0..3 {
        setup.runs(which, which);
    }
    setup.works(4, 4);
    setup.wants(3, true);
    setup.later(|state| {
        for machine in &mut state.objects.machines {
            machine.upgrades();
        }
    });
    World {
        name: "large",
        about: "three control planes and a worker move to another version, and a control plane joins",
        start: setup.done(),
        faults: Faults {
            cuts: true,
            lag: true,
            jobs: true,
            silence: true,
            deletes: 0b1001,
            ..Faults::default()
        },
        whole: LARGE,
        brief: brief(150),
    }
}

/// Three control planes move to another version.
fn update() -> World {
    let mut setup = Setup::new(2, 3);
    setup.prompt();
    for which in 0..3 {
        setup.runs(which, which);
    }
    let mut start = setup.done();
    for machine in &mut start.objects.machines[..3] {
        machine.upgrades();
    }
    World {
        name: "update",
        about: "three control planes move to another version",
        start,
        faults: Faults {
            cuts: true,
            deposed: true,
            jobs: true,
            ..Faults::default()
        },
        whole: ALL,
        brief: brief(150),
    }
}
