//! One request to a BMC, repeated where that is safe.

use std::time::Duration;

use reqwest::header::{ETAG, HeaderMap, HeaderName, IF_MATCH, LOCATION, RETRY_AFTER};
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url, redirect};
use secrecy::ExposeSecret as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::login::Proof;
use super::tls::{self, Refusal, RefusalSlot};
use super::{Access, Error, Login, Pace};

/// Limit of an answer in bytes: a BMC that sends more is faulty.
const LARGEST: usize = 1 << 20;
/// Limit of objects and of other values in an answer. As decoded values, eight bytes of an object
/// take hundreds.
const OBJECTS: usize = 16 << 10;
const VALUES: usize = 64 << 10;
/// Limit of a BMC's error text in messages, in characters.
const SHOWN: usize = 400;
/// Upper limit of a BMC's `Retry-After`.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Limit of redirections of one request, all to the same server.
const REDIRECTIONS: usize = 4;

/// HTTP client of one BMC.
pub(super) struct Http {
    client: Client,
    base: Url,
    refused: RefusalSlot,
    pub(super) login: Login,
    pub(super) pace: Pace,
    /// Authentication that each request carries; none before the login.
    pub(super) proof: Proof,
}

/// A successful answer of a BMC.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Method and path, for errors.
    pub(super) what: String,
}

impl Answer {
    pub(super) fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(super) fn location(&self) -> Option<String> {
        self.header(LOCATION).map(str::to_owned)
    }

    /// The pause that the BMC asks for (`Retry-After`).
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header(RETRY_AFTER)?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
    }

    /// Version of the resource (`ETag`), if the BMC sends one.
    pub(super) fn etag(&self) -> Option<String> {
        let in_body = || {
            let body: Value = serde_json::from_slice(&self.body).ok()?;
            Some(body.get("@odata.etag")?.as_str()?.to_owned())
        };
        self.header(ETAG).map(str::to_owned).or_else(in_body)
    }
}

impl Http {
    pub(super) fn new(access: &Access, pace: Pace) -> Result<Self, Error> {
        let refused = RefusalSlot::default();
        let problem = |problem: String| Error::Client {
            address: access.address.to_string(),
            problem,
        };
        let tls = tls::client(&access.trust, refused.clone())
            .map_err(|error| problem(error.to_string()))?;
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(true)
            .no_proxy()
            .redirect(same_server())
            .timeout(pace.request)
            // many BMCs hang or drop idle connections
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| problem(error.to_string()))?;
        Ok(Self {
            client,
            base: access.address.clone(),
            refused,
            login: access.login.clone(),
            pace,
            proof: Proof::None,
        })
    }

    /// The BMC's URL, for errors.
    pub(super) fn address(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    /// Reads a resource.
    pub(super) async fn get(&mut self, path: &str) -> Result<Answer, Error> {
        self.repeated(Method::GET, path, None, None).await
    }

    /// Reads and decodes a resource.
    pub(super) async fn read<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Error> {
        let answer = self.get(path).await?;
        self.decode(&answer)
    }

    pub(super) fn decode<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, Error> {
        serde_json::from_slice(&answer.body).map_err(|error| Error::Malformed {
            address: self.address(),
            what: answer.what.clone(),
            problem: error.to_string(),
        })
    }

    /// An idempotent request: repeated with back-off while the BMC is busy or drops the
    /// connection. An expired session is renewed once.
    pub(super) async fn repeated(
        &mut self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        version: Option<&str>,
    ) -> Result<Answer, Error> {
        let mut renewed = false;
        let mut failures = 0;
        loop {
            let result = self.once(method.clone(), path, body, version).await;
            match result {
                Err(Error::Refused { status: 401, .. }) if self.proof.is_token() && !renewed => {
                    renewed = true;
                    self.begin_session_again().await?;
                }
                Err(error) if error.may_pass() && failures + 1 < self.pace.attempts => {
                    tokio::time::sleep(self.pace.pause * 2_u32.pow(failures.min(8))).await;
                    failures += 1;
                }
                result => return result,
            }
        }
    }

    /// One request, without repetition.
    pub(super) async fn once(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        version: Option<&str>,
    ) -> Result<Answer, Error> {
        let what = format!("{method} {path}");
        let url = self.url(path, &what)?;
        let mut request = self.client.request(method, url);
        request = request
            .header("Accept", "application/json")
            .header("OData-Version", "4.0");
        request = self.proven(request);
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Some(version) = version {
            request = request.header(IF_MATCH, version);
        }
        let mut response = request.send().await.map_err(|error| self.lost(error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.lost(error))? {
            body.extend_from_slice(&chunk);
            if body.len() > LARGEST {
                return Err(self.malformed(what, format!("it is larger than {LARGEST} bytes")));
            }
        }
        self.judged(Answer {
            status,
            headers,
            body,
            what,
        })
    }

    /// An answer that may be decoded.
    fn judged(&self, answer: Answer) -> Result<Answer, Error> {
        if let Some(problem) = dense(&answer.body) {
            return Err(self.malformed(answer.what, problem));
        }
        if !answer.status.is_success() {
            return Err(Error::Refused {
                address: self.address(),
                status: answer.status.as_u16(),
                said: self.shown(&answer.body),
                what: answer.what,
            });
        }
        Ok(answer)
    }

    fn proven(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.proof {
            Proof::None => request,
            Proof::Basic => request.basic_auth(
                &self.login.username,
                Some(self.login.password.expose_secret()),
            ),
            Proof::Token { token, .. } => request.header("X-Auth-Token", token.clone()),
        }
    }

    /// A path from the BMC as a URL on that BMC: credentials are sent to no other server.
    fn url(&self, path: &str, what: &str) -> Result<Url, Error> {
        let url = self.base.join(path).ok();
        url.filter(|url| url.origin() == self.base.origin())
            .ok_or_else(|| self.malformed(what.into(), "it refers to another server".into()))
    }

    fn malformed(&self, what: String, problem: String) -> Error {
        Error::Malformed {
            address: self.address(),
            what,
            problem,
        }
    }

    fn lost(&self, error: reqwest::Error) -> Error {
        let address = self.address();
        let refusal = self
            .refused
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        match refusal {
            Some(Refusal {
                shown,
                pinned: Some(pinned),
                ..
            }) => Error::CertificateChanged {
                address,
                shown,
                pinned,
            },
            Some(refusal) => Error::CertificateUntrusted {
                address,
                shown: refusal.shown,
                problem: refusal.problem,
            },
            None => Error::Unreachable {
                address,
                source: Box::new(error.without_url()),
            },
        }
    }

    /// The body of an error, verbatim: as text, because some BMCs send no JSON. The password is
    /// removed from it.
    fn shown(&self, body: &[u8]) -> String {
        let text = String::from_utf8_lossy(body);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let password = self.login.password.expose_secret();
        let text = if password.is_empty() {
            text
        } else {
            text.replace(password, "…")
        };
        if text.is_empty() {
            return text;
        }
        let cut: String = text.chars().take(SHOWN).collect();
        let dots = if cut.len() < text.len() { "…" } else { "" };
        format!(": {cut}{dots}")
    }
}

/// Whether a body has more in it than a BMC says, by the characters before each value; those in
/// texts count as well.
fn dense(body: &[u8]) -> Option<String> {
    let count = |marks: &[u8]| body.iter().filter(|byte| marks.contains(byte)).count();
    let counted = [(&b"{"[..], OBJECTS, "objects"), (b",[", VALUES, "values")];
    let over = counted
        .into_iter()
        .find(|(marks, limit, _)| count(marks) > *limit);
    over.map(|(_, limit, what)| format!("it has more than {limit} {what}"))
}

/// Redirections within the BMC (an emulator's from a name to a UUID) are followed; the token is
/// sent to no other server.
fn same_server() -> redirect::Policy {
    redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first().map(Url::origin);
        if first == Some(attempt.url().origin()) && attempt.previous().len() <= REDIRECTIONS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::Trust;
    use super::*;

    #[test]
    fn a_body_of_many_small_values_is_refused_before_it_is_decoded() {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let login = Login {
            username: "admin".into(),
            password: "secret".to_owned().into(),
        };
        let trust =
            Trust::fingerprint(&format!("sha256:{}", "0a".repeat(32))).expect("a fingerprint");
        let access = Access::new("https://192.0.2.20", login, trust, None).expect("an access");
        let http = Http::new(&access, Pace::default()).expect("a client");
        // also the body of an error, whose text is told
        for status in [StatusCode::OK, StatusCode::INTERNAL_SERVER_ERROR] {
            let judged = |body: Vec<u8>| {
                let judged = http.judged(Answer {
                    status,
                    headers: HeaderMap::new(),
                    body,
                    what: "GET /redfish/v1".into(),
                });
                match judged {
                    Err(Error::Malformed { problem, .. }) => Some(problem),
                    _ => None,
                }
            };
            assert_eq!(judged(b"{\"a\":0},".repeat(OBJECTS)), None);
            let told = judged(b"{\"a\":0},".repeat(OBJECTS + 1));
            assert_eq!(told.as_deref(), Some("it has more than 16384 objects"));
            let told = judged(b"[],".repeat(VALUES / 2 + 1));
            assert_eq!(told.as_deref(), Some("it has more than 65536 values"));
        }
    }
}
