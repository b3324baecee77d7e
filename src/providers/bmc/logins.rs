//! Logins at BMCs. Several Hosts may be systems of one BMC (a chassis, an emulator) and share a
//! login: a result for one Host applies to all. A login that is not verified yet is tried by one
//! Host at a time, so that a wrong password costs one failed attempt and not one per Host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tatara_core::host::ContactError;
use tatara_redfish::Error;

/// Digest of address, user and password. It stays in memory, because it is derived from the
/// password.
pub type LoginDigest = [u8; 32];

/// Lock of a login that is being tried; holds the error if the last attempt did not reach the BMC.
type Turn = tokio::sync::Mutex<Option<ContactError>>;

/// A login, and whether it was accepted.
type LoginRecord = (LoginDigest, Result<(), ContactError>);

/// The results of logins to BMCs.
#[derive(Default)]
pub struct Logins {
    /// By the UID of a Host: its last login that was accepted or refused.
    known: Mutex<HashMap<String, LoginRecord>>,
    turns: Mutex<HashMap<LoginDigest, Arc<Turn>>>,
}

impl Logins {
    /// Logs a Host in with `attempt`, unless the login is known to be refused once its lock is
    /// acquired.
    ///
    /// # Errors
    /// The login is refused or was refused before, or `attempt` fails.
    pub async fn log_in<T>(
        &self,
        uid: &str,
        login: LoginDigest,
        attempt: impl Future<Output = Result<T, (Error, ContactError)>>,
    ) -> Result<T, ContactError> {
        let turn = self.turn(login);
        let (last, has_waited) = match turn.try_lock() {
            Ok(last) => (last, false),
            Err(_) => (turn.lock().await, true),
        };
        let mut held = match self.known(&login) {
            Some(Err(refusal)) => {
                self.refused(uid, login, &refusal);
                return Err(refusal);
            }
            // an accepted login may be used concurrently
            Some(Ok(())) => {
                drop(last);
                None
            }
            None => Some(last),
        };
        // callers that waited for a failed connection would fail as well
        if let Some(error) = held.as_ref().and_then(|last| last.as_ref())
            && has_waited
        {
            return Err(error.clone());
        }
        let result = attempt.await;
        let unreachable = match &result {
            Err((Error::Unreachable { .. }, said)) => Some(said.clone()),
            _ => None,
        };
        match &result {
            Ok(_) => self.learn(uid, login, Ok(())),
            Err((Error::LoginRefused { .. }, said)) => self.refused(uid, login, said),
            Err(_) => self.forget(uid),
        }
        if let Some(last) = &mut held {
            **last = unreachable;
        }
        result.map_err(|(_, said)| said)
    }

    /// Records that the BMC refused this login.
    pub fn refused(&self, uid: &str, login: LoginDigest, said: &ContactError) {
        self.learn(uid, login, Err(said.clone()));
    }

    /// Forgets the result recorded for a Host.
    pub fn forget(&self, uid: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.remove(uid);
    }

    fn learn(&self, uid: &str, login: LoginDigest, said: Result<(), ContactError>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(uid.to_owned(), (login, said));
    }

    /// The result that any Host has recorded for this login; a refusal takes precedence.
    fn known(&self, login: &LoginDigest) -> Option<Result<(), ContactError>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let of_login = known.values().filter(|(of, _)| of == login);
        of_login
            .map(|(_, said)| said.clone())
            .max_by_key(Result::is_err)
    }

    fn turn(&self, login: LoginDigest) -> Arc<Turn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        // drop the locks of logins that are not being tried
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        turns.entry(login).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::future::join_all;

    use super::*;

    const LOGIN: LoginDigest = [1; 32];

    /// The error of a failed attempt.
    type Answer = (Error, ContactError);

    fn refusal() -> Answer {
        let error = Error::LoginRefused {
            address: "https://192.0.2.20".into(),
            username: "admin".into(),
            status: 401,
            said: String::new(),
        };
        let said = super::super::error::contact_error(&error);
        (error, said)
    }

    fn silence() -> Answer {
        let error = Error::Unreachable {
            address: "https://192.0.2.20".into(),
            source: "no route".into(),
        };
        let said = super::super::error::contact_error(&error);
        (error, said)
    }

    /// Sixteen Hosts log in concurrently: the number of attempts at the BMC, and the result of each
    /// Host.
    async fn all_at_once(
        logins: &Logins,
        answer: fn() -> Option<Answer>,
    ) -> (usize, Vec<&'static str>) {
        let asked = AtomicUsize::new(0);
        let attempts = (0..16).map(|number| {
            let asked = &asked;
            async move {
                let attempt = async {
                    asked.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                    answer().map_or(Ok(()), Err)
                };
                let result = logins.log_in(&number.to_string(), LOGIN, attempt).await;
                result.map_or_else(|error| error.reason.as_str(), |()| "let in")
            }
        });
        let told = join_all(attempts).await;
        (asked.into_inner(), told)
    }

    #[tokio::test]
    async fn hosts_that_share_a_login_try_a_wrong_password_once_between_them() {
        let logins = Logins::default();
        let refused = vec!["BMCLoginRefused"; 16];
        assert_eq!(
            all_at_once(&logins, || Some(refusal())).await,
            (1, refused.clone())
        );
        // the refusal remains when the Host that tried it is deleted or has another login
        logins.forget("0");
        assert_eq!(all_at_once(&logins, || None).await, (0, refused));
        let other = logins.log_in("1", [2; 32], async { Ok(()) }).await;
        assert_eq!(other, Ok(()));
    }

    #[tokio::test]
    async fn what_was_accepted_is_used_by_all_until_it_is_refused() {
        let logins = Logins::default();
        let (asked, told) = all_at_once(&logins, || None).await;
        assert_eq!((asked, told), (16, vec!["let in"; 16]));
        // two at once: neither waits for the other
        let both = tokio::sync::Barrier::new(2);
        let attempt = |uid| {
            let wait = async {
                both.wait().await;
                Ok(())
            };
            logins.log_in(uid, LOGIN, wait)
        };
        let both = async { tokio::join!(attempt("a"), attempt("b")) };
        let both = tokio::time::timeout(Duration::from_secs(10), both).await;
        assert_eq!(both, Ok((Ok(()), Ok(()))));
        // the password was changed on the BMC
        logins
            .log_in("a", LOGIN, async { Err::<(), _>(refusal()) })
            .await
            .unwrap_err();
        let refused = vec!["BMCLoginRefused"; 16];
        assert_eq!(all_at_once(&logins, || None).await, (0, refused));
    }

    #[tokio::test]
    async fn a_bmc_that_does_not_answer_keeps_nobody_waiting_twice_and_is_tried_again() {
        let logins = Logins::default();
        let silent = vec!["BMCUnreachable"; 16];
        for _ in 0..2 {
            assert_eq!(
                all_at_once(&logins, || Some(silence())).await,
                (1, silent.clone())
            );
        }
        assert_eq!(all_at_once(&logins, || None).await.0, 16);
    }
}
