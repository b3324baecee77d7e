//! The sequences of Cluster API's own rollout tests, and others, step by step, with the reasons: `tests/scenarios/rollouts`.

#[path = "../../support/scenario.rs"]
mod format;

use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString::Int;
use tatara_core::api::machine_deployment::Strategy;

use crate::rollout::simulation::{World, in_place, on_delete, rolling};
use format::Play;

/// What may stand after `start:`.
const STARTS: &str = "N Machines run, or: N control planes run (1 control plane runs); then one of
  , RollingUpdate, maxSurge N, maxUnavailable N
  , InPlace, maxUnavailable N, updates take N s
  , OnDelete";

/// What may happen.
const EVENTS: &str = "user sets the version to vN.N.N
  user sets the replicas to N
  user sets the replicas of msN to N
  user deletes an old Machine
  pass
  pass over the MachineDeployment
  pass over msN
  what was told is forgotten
  until done
  until done, a user deletes old Machines, N missing at most";

impl Play for World {
    fn start(words: &str) -> Result<Self, String> {
        begin(words).ok_or_else(|| format!("`{words}` is no start. These are:\n  {STARTS}"))
    }

    fn happen(&mut self, words: &str) -> Result<(), String> {
        let no_event =
            || format!("`{words}` is no event, or cannot happen here. These are:\n  {EVENTS}");
        if let Some(rest) = words.strip_prefix("until done") {
            let missing = match rest {
                "" => Some(0),
                _ => number(rest, ", a user deletes old Machines, ", " missing at most"),
            };
            return self.until_done(missing.ok_or_else(no_event)?);
        }
        self.event(words).ok_or_else(no_event)
    }

    fn transcript(&self, title: &str) -> String {
        format!(
            "# {title}\n# {}\n# fewest available {}, most Machines {}, {} passes of the deployment\n\n{}",
            self.sequence(),
            self.fewest_available,
            self.most_machines,
            self.passes,
            self.transcript
        )
    }
}

/// How a world begins, of so many Machines.
type Make = fn(i32, Strategy) -> World;

fn begin(words: &str) -> Option<World> {
    let (what, strategy) = words.split_once(", ")?;
    let strategy: Vec<&str> = strategy.split(", ").collect();
    let (strategy, seconds) = match strategy.as_slice() {
        ["RollingUpdate", surge, missing] => {
            let surge = number(surge, "maxSurge ", "")?;
            let missing = number(missing, "maxUnavailable ", "")?;
            (rolling(Int(surge), Int(missing)), 0)
        }
        ["InPlace", missing, time] => {
            let missing = number(missing, "maxUnavailable ", "")?;
            (
                in_place(Int(missing)),
                number::<i32>(time, "updates take ", " s")?,
            )
        }
        ["OnDelete"] => (on_delete(), 0),
        _ => return None,
    };
    let makes: [(&str, Make); 3] = [
        (" Machines run", World::running),
        (" control plane runs", World::planes),
        (" control planes run", World::planes),
    ];
    let make = |(after, make): (&str, Make)| Some(make(number(what, "", after)?, strategy.clone()));
    let mut world = makes.into_iter().find_map(make)?;
    world.physics.update = seconds.into();
    Some(world)
}

/// The number that stands between these words.
fn number<T: std::str::FromStr>(words: &str, before: &str, after: &str) -> Option<T> {
    let number = words.strip_prefix(before)?.strip_suffix(after)?;
    number.parse().ok()
}

impl World {
    fn event(&mut self, words: &str) -> Option<()> {
        match words {
            "pass" => drop(self.pass()),
            "pass over the MachineDeployment" => drop(self.reconcile_deployment()),
            "what was told is forgotten" => self.forget(),
            "user deletes an old Machine" => {
                let old = self.old_machine()?;
                self.user_deletes(&old);
            }
            _ => return self.event_with_number(words),
        }
        Some(())
    }

    fn event_with_number(&mut self, words: &str) -> Option<()> {
        if let Some(version) = words.strip_prefix("user sets the version to ") {
            self.set_version(version);
        } else if let Some(replicas) = number(words, "user sets the replicas to ", "") {
            self.deployment.spec.replicas = replicas;
        } else if let Some(set) = words.strip_prefix("user sets the replicas of ms") {
            let (set, replicas) = set.split_once(" to ")?;
            let at = self.set(set)?;
            self.sets[at].spec.replicas = replicas.parse().ok()?;
        } else {
            let at = self.set(words.strip_prefix("pass over ms")?)?;
            self.reconcile_set(at);
        }
        Some(())
    }

    /// The place of a set, by its number.
    fn set(&self, number: &str) -> Option<usize> {
        let at = number.parse::<usize>().ok()?.checked_sub(1)?;
        Some(at).filter(|at| *at < self.sets.len())
    }

    /// The first Machine of an old set.
    fn old_machine(&self) -> Option<String> {
        let wanted = self.deployment.spec.template.spec.versions.as_ref();
        let mut machines = self.machines.iter();
        let old = machines.find(|machine| machine.spec.versions.as_ref() != wanted);
        old.and_then(|machine| machine.metadata.name.clone())
    }

    /// The one that a user deletes who has so many missing at most.
    pub(super) fn victim(&self, at_most: usize) -> Option<String> {
        let replicas = usize::try_from(self.deployment.spec.replicas).expect("not negative");
        let missing = replicas.saturating_sub(self.machines.len());
        self.old_machine().filter(|_| missing < at_most)
    }

    fn user_deletes(&mut self, name: &str) {
        let _ = writeln!(self.transcript, "user        deletes a Machine");
        self.delete(name);
    }

    /// Passes over everything; where none does anything, half a minute passes.
    fn until_done(&mut self, missing: usize) -> Result<(), String> {
        for _ in 0..40 {
            let acted = self.pass();
            if let Some(old) = self.victim(missing) {
                self.user_deletes(&old);
            } else if !acted {
                if self.is_done() {
                    return Ok(());
                }
                self.pass_time(30);
            }
        }
        Err(format!(
            "it is not done after 40 rounds:\n{}",
            self.transcript
        ))
    }
}

#[test]
fn rollouts_of_scenarios_are_told_as_they_are_written() {
    format::check::<World>("rollouts");
}
