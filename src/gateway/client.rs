//! Requests to a gateway. All are idempotent and may be repeated.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tatara_gateway_wire::{LONGEST_ANSWER, event};

use super::{Credentials, GatewayError};
use tatara_core::wire::{
    Image, ImageRequest, Machine, MachineRequest, PowerAction, PowerRequest, Problem,
};

/// Time limit of connecting.
const CONNECT: Duration = Duration::from_secs(10);
/// Time limit of a request: libvirt may be busy with a disk.
const REQUEST: Duration = Duration::from_mins(1);
/// Limit of an error's body in bytes, and of its characters in a message.
const LONGEST_REFUSAL: (usize, usize) = (16 << 10, 1000);
/// Time limit between two pieces of the event stream.
const SILENCE: Duration = event::KEEP_ALIVE.saturating_mul(3);

/// A client of one gateway.
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<SecretString>,
}

impl Client {
    /// A client of the gateway at `url`, which must begin with `https://`.
    ///
    /// # Errors
    /// The URL is not an https URL, or the client cannot be built.
    pub fn new(url: &str, credentials: Credentials) -> Result<Self, GatewayError> {
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(credentials.tls)
            .https_only(true)
            .no_proxy()
            // gateways do not redirect
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .read_timeout(SILENCE)
            .build()
            .map_err(|error| GatewayError::from_request(url, &error))?;
        Ok(Self {
            http,
            url: url.trim_end_matches('/').to_owned(),
            token: credentials.token,
        })
    }

    /// URL of the gateway.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Makes the gateway download an image, unless it exists, and returns its state.
    ///
    /// # Errors
    /// The gateway does not answer, refuses the request, or sends a malformed answer.
    pub async fn fetch_image(
        &self,
        sha256: &str,
        image: &ImageRequest,
    ) -> Result<Image, GatewayError> {
        let what = format!("fetch image {}", image.url);
        self.ask(
            &what,
            self.with(Method::PUT, &format!("/v1/images/{sha256}"), Some(image)),
        )
        .await
    }

    /// Creates a virtual machine, unless it exists.
    ///
    /// # Errors
    /// The gateway does not answer, refuses the request, or sends a malformed answer.
    pub async fn create(
        &self,
        id: &str,
        machine: &MachineRequest,
    ) -> Result<Machine, GatewayError> {
        let what = format!("create virtual machine {}", machine.spec.name);
        self.ask(
            &what,
            self.with(Method::PUT, &format!("/v1/machines/{id}"), Some(machine)),
        )
        .await
    }

    /// The current state of a virtual machine, if it exists.
    ///
    /// # Errors
    /// The gateway does not answer, refuses the request, or sends a malformed answer.
    pub async fn machine(&self, id: &str) -> Result<Option<Machine>, GatewayError> {
        let what = format!("show virtual machine {id}");
        let answer = self
            .ask(
                &what,
                self.with(Method::GET, &format!("/v1/machines/{id}"), None::<&()>),
            )
            .await;
        match answer {
            Err(GatewayError::Refused { status: 404, .. }) => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Deletes a virtual machine and its disks, if it exists.
    ///
    /// # Errors
    /// The gateway does not answer or refuses the request.
    pub async fn delete(&self, id: &str) -> Result<(), GatewayError> {
        let what = format!("delete virtual machine {id}");
        self.tell(
            &what,
            self.with(Method::DELETE, &format!("/v1/machines/{id}"), None::<&()>),
        )
        .await
    }

    /// Changes the power of a virtual machine.
    ///
    /// # Errors
    /// The gateway does not answer or refuses the request.
    pub async fn power(&self, id: &str, action: PowerAction) -> Result<(), GatewayError> {
        let body = PowerRequest { action };
        let what = format!(
            "change the power of virtual machine {id} ({})",
            action.name()
        );
        self.tell(
            &what,
            self.with(
                Method::POST,
                &format!("/v1/machines/{id}/power"),
                Some(&body),
            ),
        )
        .await
    }

    /// Removes the seed (cloud-init data), with its keys, from a virtual machine.
    ///
    /// # Errors
    /// The gateway does not answer or refuses the request.
    pub async fn remove_seed(&self, id: &str) -> Result<(), GatewayError> {
        let what = format!("remove the seed of virtual machine {id}");
        self.tell(
            &what,
            self.with(
                Method::DELETE,
                &format!("/v1/machines/{id}/seed"),
                None::<&()>,
            ),
        )
        .await
    }

    /// The event stream, which begins with the current state. The caller reads it to its end.
    pub(super) async fn events(&self) -> Result<Response, GatewayError> {
        let request = self
            .request(Method::GET, "/v1/events")
            .header("accept", "text/event-stream");
        self.send("stream its events", request).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url));
        match &self.token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        }
    }

    fn with<B: Serialize>(&self, method: Method, path: &str, body: Option<&B>) -> RequestBuilder {
        let request = self.request(method, path).timeout(REQUEST);
        match body {
            Some(body) => request.json(body),
            None => request,
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        what: &str,
        request: RequestBuilder,
    ) -> Result<T, GatewayError> {
        let answer = self.send(what, request).await?;
        let unreadable = |why: String| GatewayError::Unreadable {
            url: self.url.clone(),
            why,
        };
        let (answer, is_whole) = self.body(answer, LONGEST_ANSWER).await?;
        if !is_whole {
            return Err(unreadable(format!(
                "it is larger than {LONGEST_ANSWER} bytes"
            )));
        }
        serde_json::from_slice(&answer).map_err(|error| unreadable(error.to_string()))
    }

    /// The body of an answer, up to `most` bytes, and whether it is complete. The limit protects
    /// the manager from a faulty gateway.
    async fn body(
        &self,
        mut answer: Response,
        most: usize,
    ) -> Result<(Vec<u8>, bool), GatewayError> {
        let mut body = Vec::new();
        loop {
            let piece = answer.chunk().await;
            let piece = piece.map_err(|error| GatewayError::from_request(&self.url, &error))?;
            let Some(piece) = piece else {
                return Ok((body, true));
            };
            let room = most - body.len();
            body.extend_from_slice(&piece[..piece.len().min(room)]);
            if piece.len() > room {
                return Ok((body, false));
            }
        }
    }

    async fn tell(&self, what: &str, request: RequestBuilder) -> Result<(), GatewayError> {
        self.send(what, request).await.map(drop)
    }

    async fn send(&self, what: &str, request: RequestBuilder) -> Result<Response, GatewayError> {
        let answer = request.send().await;
        let answer = answer.map_err(|error| GatewayError::from_request(&self.url, &error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let (text, _) = self
            .body(answer, LONGEST_REFUSAL.0)
            .await
            .unwrap_or_default();
        Err(self.refused(what, status, &String::from_utf8_lossy(&text)))
    }

    fn refused(&self, what: &str, status: StatusCode, text: &str) -> GatewayError {
        let problem: Problem = serde_json::from_str(text).unwrap_or_default();
        let detail = if problem.detail.is_empty() {
            text
        } else {
            &problem.detail
        };
        let first = |text: &str, most: usize| text.chars().take(most).collect();
        GatewayError::Refused {
            url: self.url.clone(),
            what: what.to_owned(),
            status: status.as_u16(),
            code: first(&problem.code, 64),
            detail: first(detail, LONGEST_REFUSAL.1),
        }
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
