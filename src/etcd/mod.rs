//! A client of one etcd member, by the JSON that etcd serves on its client port beside gRPC
//! (<https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/>): no gRPC stack, and the TLS, tunnels
//! and time limits of [`crate::remote::kube_client`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`answer`] | etcd's answers, as data of [`tatara_core::control_plane`] |
//! | [`error`] | what etcd refuses, and what did not reach it |

mod answer;
mod error;
#[cfg(test)]
mod tests;

use std::time::Duration;

use http::{Request, StatusCode};
use kube::client::Body;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use answer::{Alarm, Status};
pub use error::Error;
use tatara_core::control_plane::peers::Peers;
use tatara_core::control_plane::{Member, MemberId};

/// Time limit of a request. A member without leader answers a linearizable list after its own 5 s.
const LIMIT: Duration = Duration::from_secs(8);
/// Time limit of the question how a member is, which it answers by itself. A machine that is off
/// takes all of it.
const STATUS: Duration = Duration::from_secs(4);

/// A client of one member.
#[derive(Clone)]
pub struct Etcd {
    http: kube::Client,
}

impl Etcd {
    /// A client that sends its requests by `http`, which has the certificate of an etcd client.
    pub fn new(http: kube::Client) -> Self {
        Self { http }
    }

    /// The members, confirmed by the quorum (`linearizable`): a member that lost the others has no
    /// answer.
    ///
    /// # Errors
    /// [`Error`]: it was not reached, or has no quorum.
    pub async fn members(&self) -> Result<Vec<Member>, Error> {
        let question = json!({ "linearizable": true });
        let answer: answer::Members = self.ask("cluster/member/list", &question).await?;
        answer.members()
    }

    /// Removes a member.
    ///
    /// # Errors
    /// [`Error`]: it was not reached, has no quorum, or refuses. [`Error::is_not_found`]: there is no such member.
    pub async fn remove(&self, id: MemberId) -> Result<(), Error> {
        let question = json!({ "ID": id.0.to_string() });
        let _: Value = self.ask("cluster/member/remove", &question).await?;
        Ok(())
    }

    /// How this member is.
    ///
    /// # Errors
    /// [`Error`]: it was not reached, or refuses.
    pub async fn status(&self) -> Result<Status, Error> {
        let question = json!({});
        let asking = self.ask::<answer::StatusAnswer>("maintenance/status", &question);
        let answer = tokio::time::timeout(STATUS, asking).await;
        Ok(answer.map_err(|_| Error::Silent(STATUS))??.into())
    }

    /// The alarms of all members.
    ///
    /// # Errors
    /// [`Error`]: it was not reached, or has no quorum.
    pub async fn alarms(&self) -> Result<Vec<Alarm>, Error> {
        let question = json!({ "action": "GET" });
        let answer: answer::Alarms = self.ask("maintenance/alarm", &question).await?;
        Ok(answer.alarms)
    }

    /// Makes another member the leader. This one must be the leader.
    ///
    /// # Errors
    /// [`Error`]: it was not reached, is not the leader, or the other one does not take over in time.
    pub async fn transfer_leadership(&self, to: MemberId) -> Result<(), Error> {
        let question = json!({ "targetID": to.0.to_string() });
        let _: Value = self
            .ask("maintenance/transfer-leadership", &question)
            .await?;
        Ok(())
    }

    /// What it counts of the others (metrics `etcd_network_active_peers` and
    /// `etcd_network_peer_received_bytes_total`).
    ///
    /// # Errors
    /// [`Error`]: it was not reached, or refuses.
    pub async fn peers(&self) -> Result<Peers, Error> {
        let request = Request::get("/metrics").body(Body::empty());
        let request = request.map_err(|error| Error::Malformed(error.to_string()))?;
        let (status, body) = self.send(request).await?;
        if status.is_success() {
            Ok(answer::peers(&String::from_utf8_lossy(&body)))
        } else {
            Err(Error::refused(status, &body))
        }
    }

    async fn ask<A: DeserializeOwned>(&self, what: &str, question: &Value) -> Result<A, Error> {
        let request = Request::post(format!("/v3/{what}"))
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(Body::from(question.to_string().into_bytes()))
            .map_err(|error| Error::Malformed(error.to_string()))?;
        let (status, body) = self.send(request).await?;
        if status.is_success() {
            serde_json::from_slice(&body).map_err(|error| Error::Malformed(error.to_string()))
        } else {
            Err(Error::refused(status, &body))
        }
    }

    async fn send(&self, request: Request<Body>) -> Result<(StatusCode, Vec<u8>), Error> {
        let asking = async {
            let answer = self.http.send(request).await.map_err(Error::Unreached)?;
            let status = answer.status();
            let body = answer.into_body().collect_bytes().await;
            Ok((status, body.map_err(Error::Unreached)?.to_vec()))
        };
        let asked = tokio::time::timeout(LIMIT, asking).await;
        asked.map_err(|_| Error::Silent(LIMIT))?
    }
}
