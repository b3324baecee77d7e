//! Two control-plane Machines, their hosts and their Cluster in memory, changed by nothing but plans and
//! by what goes wrong: whatever happens in whatever order, there is never a second init.

use proptest::prelude::*;

use super::*;

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
    /// A minute passes.
    Minute,
}

fn event() -> impl Strategy<Value = Event> {
    let which = || 0..2_usize;
    prop_oneof![
        8 => (which(), any::<bool>()).prop_map(|(machine, fresh)| Event::Pass { machine, fresh }),
        4 => (which(), any::<bool>()).prop_map(|(host, well)| Event::Ends { host, well }),
        1 => which().prop_map(|host| Event::PowerCut { host }),
        1 => which().prop_map(|host| Event::Cable { host }),
        1 => which().prop_map(|machine| Event::Delete { machine }),
        2 => which().prop_map(|host| Event::Reset { host }),
        1 => Just(Event::Minute),
    ]
}

#[derive(Clone, Default)]
struct Site {
    /// The Machine whose marker it has.
    marked: bool,
    initialized: bool,
    silent: bool,
    units: Vec<(UnitName, Option<UnitState>)>,
    /// `kubeadm init` was begun here since the last reset.
    began: bool,
}

#[derive(Clone, Default)]
struct Member {
    deleted_at: Option<i64>,
    releasing: bool,
    claims: bool,
    gone: bool,
}

struct World {
    now: i64,
    turn: Option<usize>,
    made_by: Option<usize>,
    /// The Cluster as each Machine last saw it.
    seen: [(Option<usize>, Option<usize>); 2],
    sites: [Site; 2],
    members: [Member; 2],
}

const UIDS: [&str; 2] = [ME, OTHER];

impl World {
    fn new() -> Self {
        let member = Member {
            claims: true,
            ..Member::default()
        };
        Self {
            now: 0,
            turn: None,
            made_by: None,
            seen: [(None, None); 2],
            sites: [Site::default(), Site::default()],
            members: [member.clone(), member],
        }
    }

    fn observed(&self, at_machine: usize) -> Observed {
        let (member, site) = (&self.members[at_machine], &self.sites[at_machine]);
        let (turn, made_by) = self.seen[at_machine];
        let name = format!("cp-{at_machine}");
        let mut observed = control_plane();
        observed.machine = Arc::new(machine(&name, UIDS[at_machine], true));
        observed.marker = marker(&name, UIDS[at_machine]);
        observed = edited(
            observed,
            &json!({ "spec": { "deletion": { "hostReleaseTimeoutSeconds": 120 } } }),
        );
        if let Some(since) = member.deleted_at {
            observed = deleted(observed, at(since));
        }
        observed = with_cluster(observed, |cluster| {
            cluster.turn = turn.map(|holder| turn_of(UIDS[holder]));
            cluster.initialized_by = made_by.map(|maker| UIDS[maker].to_owned());
        });
        if !member.claims {
            return observed;
        }
        let owner = if site.marked {
            Ownership::Owner(Owner {
                marker: observed.marker.clone(),
                initialized: site.initialized,
                joined: false,
            })
        } else {
            Ownership::Nobody
        };
        let units = site.units.iter().map(|(name, state)| {
            let state = state.clone().unwrap_or(UnitState::Running(step("one")));
            unit(&observed, *name, state)
        });
        let units = units.collect();
        observed = on(observed, owner, units);
        if let Placement::Held(held) = &mut observed.placement {
            held.releasing = member.releasing;
            if site.silent {
                held.contact = Contact::Unreachable {
                    reason: "Unreachable",
                    message: "no answer".into(),
                };
            }
        }
        observed
    }

    /// Carries an action out as `execute` does: judged on what is true now, where that matters.
    fn perform(&mut self, machine: usize, action: &Action) {
        let (site, member) = (&mut self.sites[machine], &mut self.members[machine]);
        match action {
            Action::Acquire { .. } => member.claims = true,
            Action::TakeHost if !site.silent => site.marked = true,
            Action::RunUnit(UnitName::Init)
                if self.turn != Some(machine) || self.made_by.is_some() => {}
            Action::RunUnit(name) if site.marked && !site.silent => {
                let running = site.units.iter().any(|(_, state)| state.is_none());
                if !running {
                    site.units.retain(|(old, _)| old != name);
                    site.units.push((*name, None));
                    site.began |= *name == UnitName::Init;
                }
            }
            Action::TakeTurn(_) if self.turn.is_none() && self.made_by.is_none() => {
                self.turn = Some(machine);
            }
            Action::ReturnTurn if self.turn == Some(machine) => self.turn = None,
            Action::RecordInitialized if self.made_by.is_none() => {
                self.made_by = Some(machine);
                if self.turn == Some(machine) {
                    self.turn = None;
                }
            }
            Action::Release => member.releasing = true,
            Action::RemoveFinalizer => member.gone = true,
            _ => (),
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Pass { machine, fresh } if !self.members[machine].gone => {
                if fresh {
                    self.seen[machine] = (self.turn, self.made_by);
                }
                let plan = plan(&self.observed(machine), at(self.now));
                for action in &plan.actions {
                    self.perform(machine, action);
                }
            }
            Event::Ends { host, well } => {
                let site = &mut self.sites[host];
                for (name, state) in site.units.iter_mut().filter(|(_, state)| state.is_none()) {
                    *state = Some(if well {
                        UnitState::Succeeded
                    } else {
                        failure("no")
                    });
                    site.initialized |= well && *name == UnitName::Init;
                }
            }
            Event::PowerCut { host } => {
                for (_, state) in &mut self.sites[host].units {
                    state.get_or_insert(UnitState::Interrupted(step("one")));
                }
            }
            Event::Cable { host } => self.sites[host].silent ^= true,
            Event::Delete { machine } => {
                self.members[machine].deleted_at.get_or_insert(self.now);
            }
            Event::Reset { host } => self.reset(host),
            Event::Minute => self.now += 60,
            Event::Pass { .. } => (),
        }
    }

    /// What the Host's controller does: reset, then the turn, then the claim.
    fn reset(&mut self, host: usize) {
        if !self.members[host].releasing || self.sites[host].silent {
            return;
        }
        self.sites[host] = Site::default();
        if self.turn == Some(host) {
            self.turn = None;
        }
        self.members[host].claims = false;
        self.members[host].releasing = false;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn init_is_begun_on_one_host_at_a_time_and_never_beside_a_control_plane(
        events in prop::collection::vec(event(), 1..120),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
            let began = world.sites.iter().filter(|site| site.began).count();
            prop_assert!(began <= 1, "init was begun on both hosts after {event:?}");
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
    let maker = world.made_by.expect("a control plane");
    assert!(world.sites[maker].began && !world.sites[1 - maker].began);
    let other = plan(&world.observed(1 - maker), at(world.now));
    assert_eq!(
        finding(&other, "Ready").reason,
        "ControlPlaneJoinUnsupported"
    );
}
