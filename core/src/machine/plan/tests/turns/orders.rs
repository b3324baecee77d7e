//! Requests in any order, interrupted anywhere, beside people and backups.

use super::*;

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// One more request of what this one does: 0 and 1 are the Machines, 2 and 3 their Hosts'
    /// controllers, 4 the Cluster's.
    Request(usize),
    /// It is interrupted, and begins anew.
    Crash(usize),
    /// `kubeadm init` ends on a host, and well.
    Ends(usize),
    /// A host is reset.
    Reset(usize),
    /// A person writes this turn on one of the two, or removes it.
    Edit(Side, Option<usize>),
    /// One of the two is restored to how it was then.
    Restore(Side, usize),
}

fn event() -> impl Strategy<Value = Event> {
    let side = || prop_oneof![Just(Side::Secret), Just(Side::Cluster)];
    prop_oneof![
        20 => (0..5_usize).prop_map(Event::Request),
        2 => (0..5_usize).prop_map(Event::Crash),
        1 => (0..2_usize).prop_map(Event::Ends),
        2 => (0..2_usize).prop_map(Event::Reset),
        2 => (side(), prop::option::of(0..2_usize)).prop_map(|(side, to)| Event::Edit(side, to)),
        1 => (side(), any::<usize>()).prop_map(|(side, then)| Event::Restore(side, then)),
    ]
}

/// How far one actor is: what it has read.
#[derive(Clone, Default)]
struct Underway {
    secret: Option<(usize, Marks)>,
    cluster: Option<Marks>,
    /// The Secret was still the same after that: it starts next.
    is_confirmed: bool,
}

struct World {
    /// Every state that the two had, the last is the present one.
    secret: Vec<Marks>,
    cluster: Vec<Marks>,
    actors: [Underway; 5],
    /// The marker of the Machine is on its host: without it no step starts there.
    marked: [bool; 2],
    /// `kubeadm init` was begun there since the last reset.
    began: [bool; 2],
    ended: [bool; 2],
}

const UIDS: [&str; 2] = [ME, OTHER];

impl World {
    fn new() -> Self {
        Self {
            secret: vec![Marks::default()],
            cluster: vec![Marks::default()],
            actors: Default::default(),
            marked: [true; 2],
            began: [false; 2],
            ended: [false; 2],
        }
    }

    /// One request, as `turn.rs` makes them: read the Secret, read the Cluster, write one of them;
    /// or read the Secret once more, and begin.
    fn request(&mut self, actor: usize) {
        let underway = &mut self.actors[actor];
        if underway.is_confirmed {
            *underway = Underway::default();
            self.began[actor] |= self.marked[actor];
            return;
        }
        let Some((version, secret)) = underway.secret.clone() else {
            let present = self.secret.last().cloned().unwrap_or_default();
            underway.secret = Some((self.secret.len(), present));
            return;
        };
        let Some(cluster) = underway.cluster.clone() else {
            underway.cluster = self.cluster.last().cloned();
            return;
        };
        *underway = Underway::default();
        let both = Both {
            secret,
            cluster,
            no_secret: false,
        };
        match self.decide(actor, &both) {
            Step::Write(Side::Secret, marks) if version == self.secret.len() => {
                self.secret.push(marks);
            }
            Step::Write(Side::Cluster, marks) if self.cluster.last() == Some(&both.cluster) => {
                self.cluster.push(marks);
            }
            Step::Done if actor < 2 && self.marked[actor] && !self.ended[actor] => {
                self.actors[actor].is_confirmed = version == self.secret.len();
            }
            _ => (),
        }
    }

    fn decide(&self, actor: usize, both: &Both) -> Step {
        match actor {
            0 | 1 if self.ended[actor] => record(both, UIDS[actor]),
            0 | 1 => take(both, &turn_of(UIDS[actor])),
            // with the proof that nothing of it runs
            2 | 3 if !self.marked[actor - 2] => give_back(both, UIDS[actor - 2]),
            4 => settle(both),
            _ => Step::NoSecret,
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Request(actor) => self.request(actor),
            Event::Crash(actor) => self.actors[actor] = Underway::default(),
            Event::Ends(host) => self.ended[host] |= self.began[host],
            // the host of a control plane that exists stays
            Event::Reset(host) if !self.ended[host] => {
                (self.marked[host], self.began[host]) = (false, false);
            }
            Event::Edit(side, to) => {
                let mut marks = self.side(side).last().cloned().unwrap_or_default();
                marks.turn = to.map_or(Holder::Nobody, |to| Holder::Of(turn_of(UIDS[to])));
                self.change(side, marks);
            }
            Event::Restore(side, then) => {
                let states = self.side(side);
                let marks = states[then % states.len()].clone();
                self.change(side, marks);
            }
            Event::Reset(_) => (),
        }
    }

    fn side(&mut self, side: Side) -> &mut Vec<Marks> {
        match side {
            Side::Secret => &mut self.secret,
            Side::Cluster => &mut self.cluster,
        }
    }

    /// A Machine has read that it has the turn, and starts next.
    fn begins(&self, host: usize) -> bool {
        self.marked[host] && self.actors[host].is_confirmed
    }

    /// Something else than Tatara changes one of the two; the other still says who began, or is
    /// about to.
    fn change(&mut self, side: Side, marks: Marks) {
        let other = match side {
            Side::Secret => self.cluster.last(),
            Side::Cluster => self.secret.last(),
        };
        let other = other.cloned().unwrap_or_default();
        let says = |uid: &str| other.has_turn_of(uid) || other.initialized.as_deref() == Some(uid);
        let is_known =
            (0..2).all(|host| !self.began[host] && !self.begins(host) || says(UIDS[host]));
        if is_known {
            self.side(side).push(marks);
        }
    }
}

/// The two never name the other Machine at the same moment, but each does when that reads it.
#[test]
fn what_was_true_of_the_two_at_different_moments_begins_nothing() {
    use Event::{Edit, Request, Restore};
    let mut world = World::new();
    let before = [
        Edit(Side::Cluster, Some(1)),
        Request(0),
        Edit(Side::Cluster, Some(0)),
        Request(0),
        Request(0),
        Edit(Side::Secret, Some(1)),
        Request(1),
        Edit(Side::Secret, Some(0)),
        Restore(Side::Cluster, 1),
        Request(1),
        Request(1),
        Request(1),
    ];
    for event in before {
        world.happen(event);
    }
    assert!(!world.began[1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn init_is_begun_once_whatever_happens_to_one_of_the_two_between_any_two_requests(
        events in prop::collection::vec(event(), 1..160),
    ) {
        let mut world = World::new();
        for event in events {
            world.happen(event);
            prop_assert!(world.began != [true; 2], "init was begun on both hosts after {event:?}");
        }
    }

    #[test]
    fn a_turn_that_is_given_back_is_free_again_and_is_taken(before in 0..160_usize) {
        let mut world = World::new();
        // a Machine takes it and is interrupted anywhere; then its host is reset, and the other
        // goes on
        for _ in 0..before % 16 {
            world.happen(Event::Request(0));
        }
        world.happen(Event::Reset(0));
        world.happen(Event::Crash(0));
        for _ in 0..16 {
            world.happen(Event::Request(2));
        }
        for _ in 0..16 {
            world.happen(Event::Request(1));
        }
        prop_assert!(world.began[1]);
    }
}
