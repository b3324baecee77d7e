//! Results of the last attempt at a plan's actions, while they are incomplete. Kept in memory, so
//! that the expectation of a plan does not overwrite the known result in every pass.

use crate::memory::ByUid;
use tatara_core::api::conditions::Finding;
use tatara_core::machine::plan::Action;

/// The attempted actions with their finding, by UID of the Machine.
#[derive(Default)]
pub struct Outcomes(ByUid<(Vec<Action>, Finding)>);

impl Outcomes {
    /// The finding of the last attempt at these actions.
    pub fn of(&self, machine: &str, actions: &[Action]) -> Option<Finding> {
        let (tried, found) = self.0.get(machine)?;
        (tried == actions).then_some(found)
    }

    /// Records a finding; `None` if all actions succeeded. A plan without actions has none.
    pub fn remember(&self, machine: &str, actions: &[Action], found: Option<&Finding>) {
        match found.filter(|_| !actions.is_empty()) {
            None => self.forget(machine),
            Some(found) => {
                let outcome = (actions.to_vec(), found.clone());
                self.0.insert(machine.to_owned(), outcome);
            }
        }
    }

    /// Forgets a deleted Machine.
    pub fn forget(&self, machine: &str) {
        self.0.remove(machine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tatara_core::api::conditions::{ConditionType, Reason};
    use tatara_core::machine::plan::Release;

    #[test]
    fn what_came_of_actions_is_known_until_they_change_or_are_done() {
        let outcomes = Outcomes::default();
        let drain = [
            Action::AwaitVolumes { node: "n".into() },
            Action::Release(Release::Now),
        ];
        let blocked = Finding::yes(ConditionType::Deleting, Reason::DrainBlocked, "a budget");
        outcomes.remember("m", &drain, Some(&blocked));
        assert_eq!(outcomes.of("m", &drain), Some(blocked));
        assert_eq!(outcomes.of("m", &drain[1..]), None);
        assert_eq!(outcomes.of("other", &drain), None);
        outcomes.remember("m", &drain, None);
        assert_eq!(outcomes.of("m", &drain), None);
    }
}
