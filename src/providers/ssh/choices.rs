//! Hosts that Machines have chosen and do not claim yet. Machines that are created together would
//! choose the same Host, and all but one would choose again. In memory, and for a moment: only the
//! claim decides who has a Host.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;

/// How long a choice counts, from the first time: longer than a claim takes.
const COUNTS_FOR: Duration = Duration::from_secs(5);

/// Choices by namespace and name of the Host: UID of the Machine, and when it chose.
#[derive(Debug, Default)]
pub struct Choices(Mutex<HashMap<(String, String), (String, Timestamp)>>);

impl Choices {
    /// Chooses with `choose`, which is told the UID of another Machine that has chosen a Host, and
    /// records the choice.
    pub fn choose<E>(
        &self,
        (namespace, uid): (&str, &str),
        now: Timestamp,
        choose: impl FnOnce(&dyn Fn(&str) -> Option<String>) -> Result<String, E>,
    ) -> Result<String, E> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // a clock that was set back ends a choice
        all.retain(|_, (_, at)| now.duration_since(*at).unsigned_abs() < COUNTS_FOR);
        let taken_by = |host: &str| {
            let key = (namespace.to_owned(), host.to_owned());
            let (by, _) = all.get(&key)?;
            (by != uid).then(|| by.clone())
        };
        let chosen = choose(&taken_by)?;
        let key = (namespace.to_owned(), chosen.clone());
        all.entry(key).or_insert_with(|| (uid.to_owned(), now));
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_choose_at_once_choose_different_hosts_while_there_are_some() {
        let choices = Choices::default();
        let at = |second| Timestamp::from_second(second).expect("a time");
        let choose = |uid: &str, second| {
            choices.choose(("n", uid), at(second), |taken_by| {
                let free = ["a", "b"].into_iter();
                let mut free = free.filter(|host| taken_by(host).is_none());
                Ok::<_, ()>(free.next().unwrap_or("a").to_owned())
            })
        };
        for (uid, second, expected) in [
            ("one", 100, "a"),
            ("two", 100, "b"),
            ("one", 101, "a"),
            ("three", 102, "a"),
            // it has claimed nothing since
            ("three", 105, "a"),
            ("two", 106, "b"),
            ("one", 50, "a"),
        ] {
            assert_eq!(
                choose(uid, second),
                Ok(expected.into()),
                "{uid} at {second}"
            );
        }
    }
}
