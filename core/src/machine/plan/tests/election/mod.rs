//! Two control-plane Machines, their hosts, their Cluster and its CA Secret in memory, changed by
//! nothing but plans and by what goes wrong: whatever happens in whatever order, there is never a
//! second init.

mod world;

use proptest::prelude::*;

use super::*;
use crate::control_plane::turn::{
    Both, Holder, Side, Step, give_back, record, record_found, settle, take,
};

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A pass over a Machine. It may see the Cluster as it was when it was last looked at.
    Pass { machine: usize, fresh: bool },
    /// The unit that runs on a host ends, well or not.
    Ends { host: usize, well: bool },
    /// The power of a host goes: what runs is interrupted.
    PowerCut { host: usize },
    /// A host stops answering, or answers again.
    Cable { host: usize },
    /// Somebody deletes a Machine.
    Delete { machine: usize },
    /// A released host is reset, if it answers, and freed.
    Reset { host: usize },
    /// Somebody deletes a Host by force, under whatever runs on it; or registers it again, and
    /// gives it back.
    Lose { host: usize },
    /// Somebody takes the finalizer off a Machine that is deleted.
    Strip { machine: usize },
    /// A pass over a Host whose Machine does not exist.
    Look { host: usize },
    /// A minute passes.
    Minute,
    /// The manager is killed after this many writes of the turn more, and starts anew.
    Crash { writes: usize },
    /// A pass over the Cluster.
    Settle,
    /// A person writes this turn on the Cluster or on its Secret, or removes it.
    Edit { side: Side, to: Option<usize> },
    /// The Cluster, the Secret, or both are restored to how they were then.
    Restore { what: Option<Side>, then: usize },
}

fn event() -> impl Strategy<Value = Event> {
    let which = || 0..2_usize;
    let side = || prop_oneof![Just(Side::Secret), Just(Side::Cluster)];
    prop_oneof![
        8 => (which(), any::<bool>()).prop_map(|(machine, fresh)| Event::Pass { machine, fresh }),
        4 => (which(), any::<bool>()).prop_map(|(host, well)| Event::Ends { host, well }),
        1 => which().prop_map(|host| Event::PowerCut { host }),
        1 => which().prop_map(|host| Event::Cable { host }),
        1 => which().prop_map(|machine| Event::Delete { machine }),
        2 => which().prop_map(|host| Event::Reset { host }),
        1 => which().prop_map(|host| Event::Lose { host }),
        1 => which().prop_map(|machine| Event::Strip { machine }),
        2 => which().prop_map(|host| Event::Look { host }),
        1 => Just(Event::Minute),
        1 => (0..3_usize).prop_map(|writes| Event::Crash { writes }),
        1 => Just(Event::Settle),
        1 => (side(), prop::option::of(which())).prop_map(|(side, to)| Event::Edit { side, to }),
        1 => (prop::option::of(side()), any::<usize>())
            .prop_map(|(what, then)| Event::Restore { what, then }),
    ]
}

#[derive(Clone, Default)]
struct Site {
    /// The Machine whose marker it has.
    marked: bool,
    initialized: bool,
    silent: bool,
    units: Vec<(JobKind, Option<UnitState>)>,
    /// `kubeadm init` was begun here since the last reset: the key of the CA is there.
    began: bool,
    /// The manager has seen that key since it started.
    sighted: bool,
    /// Its Host was deleted by force.
    unregistered: bool,
}

impl Site {
    /// It can be asked.
    fn answers(&self) -> bool {
        !self.silent && !self.unregistered
    }
}

#[derive(Clone, Default)]
struct Member {
    deleted_at: Option<i64>,
    releasing: bool,
    claims: bool,
    /// kubeadm was begun for it, as is written on it.
    settings: bool,
    gone: bool,
}

struct World {
    now: i64,
    /// Every state that Cluster and Secret had; the last is the present one.
    states: Vec<Both>,
    /// Both as each Machine last saw them.
    seen: [Both; 2],
    /// Writes of the turn until the manager is killed.
    writes_left: Option<usize>,
    /// A host that ran init was silent since the manager started, and neither Cluster nor Secret
    /// names its Machine any more: nothing in reach knows that a control plane may exist.
    is_lost: bool,
    /// A Machine took another host while what it began on the first may run.
    has_moved: bool,
    sites: [Site; 2],
    members: [Member; 2],
}

const UIDS: [&str; 2] = [ME, OTHER];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn init_is_begun_on_one_host_at_a_time_and_never_beside_a_control_plane(
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
            world.look_whether_all_is_lost();
            if world.is_lost {
                break;
            }
            let began = world.sites.iter().filter(|site| site.began).count();
            prop_assert!(began <= 1, "init was begun on both hosts after {event:?}");
            prop_assert!(!world.has_moved, "a Machine left its host after {event:?}");
        }
    }
}

#[test]
fn one_of_two_makes_the_control_plane_and_the_other_says_what_it_waits_for() {
    let mut world = World::new();
    for _ in 0..20 {
        for machine in [1, 0] {
            world.happen(Event::Pass {
                machine,
                fresh: true,
            });
            world.happen(Event::Ends {
                host: machine,
                well: true,
            });
        }
    }
    let by = world.both().cluster.initialized.expect("a control plane");
    let maker = UIDS.iter().position(|uid| *uid == by).expect("one of both");
    assert!(world.sites[maker].began && !world.sites[1 - maker].began);
    let other = plan(&world.observed(1 - maker), at(world.now));
    assert_eq!(finding(&other, "Ready").reason(), "EndpointMissing");
}

/// M0 ran init, and was stripped of its finalizer before that was recorded. Its host is not reset
/// because of the control plane, and M1 does not run init because of its host.
#[test]
fn an_init_that_was_not_recorded_before_its_machine_went_holds_nobody_for_ever() {
    for turn_is_kept in [true, false] {
        let mut world = World::new();
        let pass = |machine| Event::Pass {
            machine,
            fresh: true,
        };
        while !world.sites[0].began {
            world.happen(pass(0));
            world.happen(Event::Settle);
            let ends = world.sites[0].began;
            world.happen(Event::Ends {
                host: 0,
                well: true,
            });
            assert!(!ends || world.sites[0].initialized);
        }
        world.happen(Event::Delete { machine: 0 });
        world.happen(Event::Strip { machine: 0 });
        world.members[0].releasing = true;
        if !turn_is_kept {
            for side in [Side::Secret, Side::Cluster] {
                world.happen(Event::Edit { side, to: None });
            }
        }
        let tries = |world: &mut World| {
            for _ in 0..5 {
                world.happen(pass(1));
                world.happen(Event::Ends {
                    host: 1,
                    well: true,
                });
                world.happen(Event::Reset { host: 0 });
            }
        };
        tries(&mut world);
        assert!(world.sites[0].initialized, "no reset of a control plane");
        assert!(!world.sites[1].began, "no second init");
        world.happen(Event::Look { host: 0 });
        let both = world.both();
        for marks in [&both.secret, &both.cluster] {
            assert_eq!(marks.initialized.as_deref(), Some(ME), "{turn_is_kept}");
            assert_eq!(marks.turn, Holder::Nobody, "{turn_is_kept}");
        }
        tries(&mut world);
        assert!(world.sites[0].initialized && !world.sites[1].began);
        let other = plan(&world.observed(1), at(world.now));
        let reason = finding(&other, "Ready").reason();
        assert_eq!(reason, "EndpointMissing");
    }
}
