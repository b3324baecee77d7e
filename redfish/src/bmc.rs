//! A session with a BMC, and the system that it controls.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::choose::{self, Named};
use super::http::{Answer, Http};
use super::resources::{Collection, ServiceRoot, System};
use super::{Access, Error, Pace};
use tatara_core::host::PowerState;

const ROOT: &str = "/redfish/v1/";

/// A session with a BMC, for one of its systems. Close it with [`Bmc::close`].
pub struct Bmc {
    pub(super) http: Http,
    pub(super) root: ServiceRoot,
    /// Path of the system's resource.
    pub(super) system: String,
}

impl Bmc {
    /// Logs in and finds the system. If that fails, no session is left on the BMC.
    ///
    /// # Errors
    /// The BMC cannot be reached or trusted, refuses the login, or does not have the system.
    pub async fn open(access: &Access, pace: Pace) -> Result<Self, Error> {
        let mut http = Http::new(access, pace)?;
        let root = match http.read(ROOT).await {
            // DSP0266: the service root needs no login; where it does, nothing is known before the
            // login
            Err(Error::Refused {
                status: 401 | 403, ..
            }) => ServiceRoot::default(),
            result => result?,
        };
        http.log_in(&root).await?;
        let mut bmc = Self {
            http,
            root,
            system: String::new(),
        };
        match bmc.find_system(access.system.as_deref()).await {
            Ok(path) => {
                bmc.system = path;
                Ok(bmc)
            }
            Err(error) => {
                bmc.close().await;
                Err(error)
            }
        }
    }

    /// Its URL, for errors.
    pub fn address(&self) -> String {
        self.http.address()
    }

    /// Closes the session.
    pub async fn close(mut self) {
        self.http.log_out().await;
    }

    /// The power state of the system.
    ///
    /// # Errors
    /// The BMC cannot be reached, or its answer is malformed.
    pub async fn power(&mut self) -> Result<PowerState, Error> {
        Ok(self.read_system().await?.0.power_state)
    }

    /// The system as it is now, and the version (`ETag`) of that answer.
    pub(super) async fn read_system(&mut self) -> Result<(System, Option<String>), Error> {
        let path = self.system.clone();
        let answer = self.http.get(&path).await?;
        let mut system: System = self.http.decode(&answer)?;
        system.path = path;
        Ok((system, answer.etag()))
    }

    async fn find_system(&mut self, wanted: Option<&str>) -> Result<String, Error> {
        let systems = match &self.root.systems {
            Some(link) => link.id.clone(),
            None => format!("{ROOT}Systems"),
        };
        // the first request that needs the login
        let all: Collection = match self.http.read(&systems).await {
            Err(Error::Refused {
                status: status @ (401 | 403),
                said,
                ..
            }) => return Err(self.http.login_refused(status, said)),
            result => result?,
        };
        let mut found = Vec::new();
        for member in all.members {
            let system: System = self.http.read(&member.id).await?;
            found.push(Named {
                path: member.id,
                id: system.id,
                uuid: system.uuid,
                serial_number: system.serial_number,
            });
        }
        let system = choose::system(&found, wanted).map_err(|problem| Error::NoSystem {
            address: self.http.address(),
            problem,
        })?;
        Ok(system.path.clone())
    }

    /// Changes a resource. `If-Match` is sent when the BMC gave a version; on a conflict (412, 428)
    /// the resource is read again, and the change is made once more.
    pub(super) async fn patch(&mut self, path: &str, change: &Value) -> Result<(), Error> {
        let version = self.http.get(path).await?.etag();
        let version = version.as_deref();
        let first = self
            .http
            .repeated(Method::PATCH, path, Some(change), version);
        let answer = match first.await {
            Err(Error::Refused {
                status: 412 | 428, ..
            }) => {
                let version = self.http.get(path).await?.etag();
                let version = version.as_deref();
                self.http
                    .repeated(Method::PATCH, path, Some(change), version)
                    .await?
            }
            result => result?,
        };
        self.finished(answer).await
    }

    /// Requests an action once. The caller reads the result back.
    pub(super) async fn act(&mut self, path: &str, body: &Value) -> Result<(), Error> {
        let answer = self.http.once(Method::POST, path, Some(body), None).await?;
        self.finished(answer).await
    }

    /// Waits for the task that an answer started, if it did.
    async fn finished(&mut self, answer: Answer) -> Result<(), Error> {
        if answer.status == StatusCode::ACCEPTED {
            self.await_task(&answer).await
        } else {
            Ok(())
        }
    }
}
