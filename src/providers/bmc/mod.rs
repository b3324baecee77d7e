//! BMCs of Hosts: contacted only when needed, and never again with a refused login.

mod access;
mod errand;
mod error;
mod logins;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::{Client, ResourceExt};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};

pub use errand::Errand;
use errand::{open, run};
use error::local;
use logins::{LoginDigest, Logins};

use crate::store::Stores;
use tatara_core::api::Host;
use tatara_core::api::conditions::{ConditionType, Reason, find};
use tatara_core::host::{ContactError, PowerReading, PowerState};
use tatara_redfish::{Access, Error, Pace, Wish};

/// The BMCs of all Hosts.
pub struct Bmcs {
    client: Client,
    stores: Arc<Stores>,
    pace: Pace,
    logins: Logins,
    /// The last reading, by the UID of the Host.
    memory: Mutex<HashMap<String, PowerReading>>,
}

impl Bmcs {
    /// Starts without readings.
    pub fn new(client: Client, stores: Arc<Stores>) -> Self {
        Self {
            client,
            stores,
            pace: Pace::default(),
            logins: Logins::default(),
            memory: Mutex::default(),
        }
    }

    /// The last reading of a Host's BMC since this process started.
    pub fn last(&self, host: &Host) -> Option<PowerReading> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.get(&host.uid()?).cloned()
    }

    /// Forgets a deleted Host.
    pub fn forget(&self, uid: &str) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.remove(uid);
        self.logins.forget(uid);
    }

    /// A digest of the current settings and the version of the Secret; it contains no secret.
    pub fn asked_with(&self, host: &Host) -> String {
        let secret = self.secret(host);
        let version = secret.map(|secret| (secret.uid(), secret.resource_version()));
        let bmc = host.spec.bmc.as_ref();
        let settings =
            bmc.map(|bmc| (&bmc.address, &bmc.credentials_ref, &bmc.tls, &bmc.system_id));
        let digest = Sha256::digest(format!("{settings:?} {version:?}"));
        let mut name = String::new();
        for byte in &digest[..8] {
            // writing into a String cannot fail
            write!(name, "{byte:02x}").ok();
        }
        name
    }

    /// Reads the power state of the system.
    pub async fn power(&self, host: &Host, now: Timestamp) -> PowerReading {
        self.ask(host, now, &Errand::Look).await
    }

    /// Changes the power. A system that is switched on boots from its own disk.
    pub async fn bring(&self, host: &Host, wish: Wish, now: Timestamp) -> PowerReading {
        self.ask(host, now, &Errand::Bring(wish)).await
    }

    /// Runs an errand on the BMC. Returns a known refusal without contacting it.
    pub async fn ask(&self, host: &Host, now: Timestamp, errand: &Errand) -> PowerReading {
        let asked_with = self.asked_with(host);
        let heard = PowerReading {
            at: now,
            power: self.answer(host, &asked_with, errand).await,
            asked_with,
        };
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.insert(host.uid().unwrap_or_default(), heard.clone());
        heard
    }

    async fn answer(
        &self,
        host: &Host,
        asked_with: &str,
        errand: &Errand,
    ) -> Result<PowerState, ContactError> {
        let (access, login) = self.access(host).await?;
        let uid = host.uid().unwrap_or_default();
        if let Some(refusal) = refused_before(host, asked_with) {
            self.logins.refused(&uid, login, &refusal);
        }
        let session = open(&access, self.pace);
        let bmc = self.logins.log_in(&uid, login, session).await?;
        run(bmc, errand).await.map_err(|(error, said)| {
            if matches!(error, Error::LoginRefused { .. }) {
                self.logins.refused(&uid, login, &said);
            }
            said
        })
    }

    fn secret(&self, host: &Host) -> Option<Arc<Secret>> {
        let name = &host.spec.bmc.as_ref()?.credentials_ref.name;
        let namespace = host.namespace().unwrap_or_default();
        self.stores.bmc_credentials.get(&namespace, name)
    }

    /// Access to the BMC, and a digest of its login.
    async fn access(&self, host: &Host) -> Result<(Access, LoginDigest), ContactError> {
        let Some(bmc) = &host.spec.bmc else {
            return Err(local(Reason::BMCMissing, "spec.bmc is not set".into()));
        };
        let namespace = host.namespace().unwrap_or_default();
        let secret = self.secret(host);
        let login = access::login(&namespace, &bmc.credentials_ref.name, secret.as_deref())?;
        let mut digest = Sha256::new();
        for part in [
            bmc.address.as_str(),
            &login.username,
            login.password.expose_secret(),
        ] {
            digest.update(Sha256::digest(part));
        }
        let trust = access::trust(&self.client, &namespace, bmc).await?;
        let access = Access::new(&bmc.address, login, trust, bmc.system_id.clone());
        let access = access.map_err(|error| local(Reason::BMCMisconfigured, error.to_string()))?;
        Ok((access, digest.finalize().into()))
    }
}

/// The refusal that an earlier manager recorded on the Host's status for the same settings: a
/// refused login is not retried.
fn refused_before(host: &Host, asked_with: &str) -> Option<ContactError> {
    let status = host.status.as_ref()?;
    let was = status.bmc.as_ref()?.asked_with.as_deref()?;
    let said = find(&status.conditions, ConditionType::BMCReachable)?;
    (was == asked_with && said.reason == Reason::BMCLoginRefused).then(|| ContactError {
        reason: Reason::BMCLoginRefused,
        message: said.message.clone(),
        transient: false,
    })
}
