//! Session or basic authentication. A password is tried once: whoever is refused is not asked again here,
//! so that no BMC locks its user out on our account.

use reqwest::Method;
use reqwest::header::HeaderValue;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::Error;
use super::http::{Answer, Http};
use super::resources::ServiceRoot;

/// Where sessions are made, when the BMC has a `SessionService` and does not say.
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// What each request shows.
pub(super) enum Proof {
    /// Nothing: the service root is open to all.
    None,
    /// User and password.
    Basic,
    /// The token of a session.
    Token {
        /// The token; marked sensitive.
        token: HeaderValue,
        /// Where the session was made.
        sessions: String,
        /// The session itself, where it is ended.
        session: Option<String>,
    },
}

impl Proof {
    pub(super) fn is_token(&self) -> bool {
        matches!(self, Self::Token { .. })
    }
}

impl Http {
    /// Begins a session where the BMC has them, else takes basic authentication.
    pub(super) async fn log_in(&mut self, root: &ServiceRoot) -> Result<(), Error> {
        let named = root.links.sessions.as_ref().map(|link| link.id.clone());
        let sessions = named.or_else(|| root.session_service.is_some().then(|| SESSIONS.into()));
        self.proof = match sessions {
            Some(sessions) => self.session(sessions).await?,
            None => Proof::Basic,
        };
        Ok(())
    }

    /// A session that the BMC has ended before us is begun anew, with a password that it has accepted.
    pub(super) async fn begin_session_again(&mut self) -> Result<(), Error> {
        if let Proof::Token { sessions, .. } = &self.proof {
            let sessions = sessions.clone();
            self.proof = Proof::None;
            self.proof = self.session(sessions).await?;
        }
        Ok(())
    }

    async fn session(&mut self, sessions: String) -> Result<Proof, Error> {
        let password = self.login.password.expose_secret();
        let body = json!({ "UserName": self.login.username, "Password": password });
        // once: an attempt that was lost on the way may have been counted
        match self.once(Method::POST, &sessions, Some(&body), None).await {
            Ok(answer) => Ok(token(&answer, sessions)),
            Err(Error::Refused { status, said, .. }) if matches!(status, 400 | 401 | 403) => {
                // a few answer 400 to a wrong password
                Err(self.login_refused(status, said))
            }
            // no such service after all, or it has no room for one more session
            Err(Error::Refused {
                status: 404 | 405 | 500..=599,
                ..
            }) => Ok(Proof::Basic),
            // busy, or too many sessions or attempts (408, 409, 429): nothing was said of the password
            Err(error) => Err(error),
        }
    }

    /// 401 and 403 to what needs a login are about the login.
    pub(super) fn login_refused(&self, status: u16, said: String) -> Error {
        Error::LoginRefused {
            address: self.address(),
            username: self.login.username.clone(),
            status,
            said,
        }
    }

    /// Ends the session: BMCs have room for a few only.
    pub(super) async fn log_out(&mut self) {
        let Proof::Token {
            session: Some(session),
            ..
        } = &self.proof
        else {
            return;
        };
        let session = session.clone();
        // a session that has ended by itself is no trouble, and one that stays ends later
        if let Err(error) = self.once(Method::DELETE, &session, None, None).await {
            tracing::debug!(%error, "a session was not ended");
        }
        self.proof = Proof::None;
    }
}

fn token(answer: &Answer, sessions: String) -> Proof {
    let Some(token) = answer.headers.get("X-Auth-Token") else {
        // a service that gives no token has begun no session
        return Proof::Basic;
    };
    let mut token = token.clone();
    token.set_sensitive(true);
    let in_body = || {
        let body: Value = serde_json::from_slice(&answer.body).ok()?;
        Some(body.get("@odata.id")?.as_str()?.to_owned())
    };
    Proof::Token {
        token,
        sessions,
        session: answer.location().or_else(in_body),
    }
}
