//! Session or basic authentication. A refused password is not tried again here, because a BMC may
//! lock its user out after several attempts.

use reqwest::Method;
use reqwest::header::HeaderValue;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use super::Error;
use super::http::{Answer, Http};
use super::resources::ServiceRoot;

/// Path of the sessions of a BMC whose `SessionService` does not link them.
const SESSIONS: &str = "/redfish/v1/SessionService/Sessions";

/// Authentication that each request carries.
pub(super) enum Proof {
    /// None: the service root needs no login.
    None,
    /// User and password (HTTP Basic).
    Basic,
    /// The token of a session.
    Token {
        /// Value of `X-Auth-Token`, marked sensitive.
        token: HeaderValue,
        /// Path of the collection where the session is created.
        sessions: String,
        /// Path of the session, for its deletion.
        session: Option<String>,
    },
}

impl Proof {
    pub(super) fn is_token(&self) -> bool {
        matches!(self, Self::Token { .. })
    }
}

impl Http {
    /// Creates a session if the BMC supports it, otherwise uses basic authentication.
    pub(super) async fn log_in(&mut self, root: &ServiceRoot) -> Result<(), Error> {
        let named = root.links.sessions.as_ref().map(|link| link.id.clone());
        let sessions = named.or_else(|| root.session_service.is_some().then(|| SESSIONS.into()));
        self.proof = match sessions {
            Some(sessions) => self.session(sessions).await?,
            None => Proof::Basic,
        };
        Ok(())
    }

    /// Renews a session that expired on the BMC, with the password that it accepted before.
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
        // once: the BMC may have counted an attempt whose answer was lost
        match self.once(Method::POST, &sessions, Some(&body), None).await {
            Ok(answer) => Ok(token(&answer, sessions)),
            Err(Error::Refused { status, said, .. }) if matches!(status, 400 | 401 | 403) => {
                // some BMCs answer 400 to a wrong password
                Err(self.login_refused(status, said))
            }
            // sessions are not supported after all, or their limit is reached
            Err(Error::Refused {
                status: 404 | 405 | 500..=599,
                ..
            }) => Ok(Proof::Basic),
            // busy, or too many sessions or attempts (408, 409, 429): the password was not checked
            Err(error) => Err(error),
        }
    }

    /// After a login, 401 and 403 mean that the login is refused.
    pub(super) fn login_refused(&self, status: u16, said: String) -> Error {
        Error::LoginRefused {
            address: self.address(),
            username: self.login.username.clone(),
            status,
            said,
        }
    }

    /// Deletes the session: BMCs allow few.
    pub(super) async fn log_out(&mut self) {
        let Proof::Token {
            session: Some(session),
            ..
        } = &self.proof
        else {
            return;
        };
        let session = session.clone();
        // a session that cannot be deleted expires by itself
        if let Err(error) = self.once(Method::DELETE, &session, None, None).await {
            tracing::debug!(%error, "failed to delete the session of a BMC; it expires by itself");
        }
        self.proof = Proof::None;
    }
}

fn token(answer: &Answer, sessions: String) -> Proof {
    let Some(token) = answer.headers.get("X-Auth-Token") else {
        // without a token there is no session
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
