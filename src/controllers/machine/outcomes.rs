//! What came of the actions of a plan when they were last tried, as long as it is not all that was wanted. Kept in
//! memory: what a plan hopes for is not written over what is known to come of it, pass after pass.

use crate::api::conditions::Finding;
use crate::core::machine::plan::Action;
use crate::memory::ByUid;

/// What was tried, and what was found.
#[derive(Default)]
pub struct Outcomes(ByUid<(Vec<Action>, Finding)>);

impl Outcomes {
    /// What was found when these actions were last tried.
    pub fn of(&self, machine: &str, actions: &[Action]) -> Option<Finding> {
        let (tried, found) = self.0.get(machine)?;
        (tried == actions).then_some(found)
    }

    /// Remembers what was found; nothing where all was done.
    pub fn remember(&self, machine: &str, actions: &[Action], found: Option<&Finding>) {
        match found {
            None => self.forget(machine),
            Some(found) => {
                let outcome = (actions.to_vec(), found.clone());
                self.0.insert(machine.to_owned(), outcome);
            }
        }
    }

    /// Forgets a Machine that is gone.
    pub fn forget(&self, machine: &str) {
        self.0.remove(machine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::conditions::{ConditionType, Reason};
    use crate::core::machine::plan::Release;

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
