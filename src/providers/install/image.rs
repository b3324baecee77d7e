//! The installer of one host: its keys, in a Secret of its Host, and the image that is served to
//! it.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::PostParams;
use kube::{Api, Client, Resource, ResourceExt};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

use super::Installs;
use crate::engine::{Chain, Engine, ReconcileError, patch};
use crate::media::Token;
use crate::providers::ssh::keys::pair;
use tatara_core::api::Host;
use tatara_core::api::installation::{Installation, Record};
use tatara_core::api::names::{LABEL_MANAGED_BY, MANAGED_BY, host_key_secret};
use tatara_core::host::Observed;
use tatara_core::installer::{Answers, BaseState, files};

/// Key of the Secret: the private host key.
const HOST: &str = "ssh-host-ed25519-key";
/// Key of the Secret: the public host key.
const HOST_PUBLIC: &str = "ssh-host-ed25519-key.pub";
/// Key of the Secret: the id of the installation that uses the keys.
const ID: &str = "installation";
/// Key of the Secret: the token in the image's URL.
const TOKEN: &str = "media-token";
/// Key of the ConfigMap: additional preseed answers.
const PRESEED: &str = "preseed.cfg";

/// Creates the keys of a new installation in the Secret of the Host. Returns its id and the public
/// host key.
///
/// # Errors
/// A key cannot be generated, the Secret belongs to another object, or it cannot be written.
pub async fn make_keys(engine: &Engine, host: &Host) -> Result<(String, String), ReconcileError> {
    let failed = |why: &str| ReconcileError::other("create the keys of an installation", why);
    let (private, public) = pair(&host.name_any()).map_err(|why| failed(&why))?;
    let random =
        || Token::random().ok_or_else(|| failed("the operating system provides no random numbers"));
    let token = random()?;
    let id = random()?.expose()[..32].to_owned();
    let data = [
        (HOST, private),
        (HOST_PUBLIC, public.clone()),
        (ID, id.clone()),
        (TOKEN, token.expose().to_owned()),
    ];
    let data = data.map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes())));
    let name = host_key_secret(&host.name_any());
    let namespace = host.namespace().unwrap_or_default();
    let secrets: Api<Secret> = Api::namespaced(engine.client.clone(), &namespace);
    let problem = |what: &str| ReconcileError::api(format!("{what} Secret {name}"));
    let mut secret = Secret {
        data: Some(data.into()),
        ..Secret::default()
    };
    match secrets.get_opt(&name).await.map_err(problem("read"))? {
        Some(known) if is_ours(&known, host) => {
            patch::write(engine, &known, json!({ "data": secret.data })).await?;
        }
        Some(_) => {
            return Err(failed(&format!(
                "Secret {name} belongs to another object, such as an earlier Host of this name; delete it"
            )));
        }
        None => {
            secret.metadata.name = Some(name.clone());
            secret.metadata.labels = Some([(LABEL_MANAGED_BY.into(), MANAGED_BY.into())].into());
            secret.metadata.owner_references = host.controller_owner_ref(&()).map(|o| vec![o]);
            let made = secrets.create(&PostParams::default(), &secret).await;
            made.map_err(problem("create"))?;
        }
    }
    Ok((id, public))
}

fn is_ours(secret: &Secret, host: &Host) -> bool {
    let owners = secret.owner_references();
    owners
        .iter()
        .any(|owner| Some(&owner.uid) == host.uid().as_ref())
}

/// The data of an installation in the Secret of a Host.
struct Keys {
    private: SecretString,
    public: String,
    token: Token,
}

/// Serves the installer to the host, and returns its URL. The inner error is a configuration error
/// of the user.
///
/// # Errors
/// The image is missing, or a Secret or ConfigMap cannot be read.
pub async fn open(
    installs: &Installs,
    observed: &Observed,
    record: &Record,
) -> Result<Result<SecretString, String>, ReconcileError> {
    let host = observed.host.as_ref();
    let image = observed
        .installation
        .as_ref()
        .and_then(|u| u.image.as_ref());
    let (Some(media), Some(BaseState::Ready(base))) = (&installs.media, image) else {
        return Err(ReconcileError::other(
            "serve an installer",
            "its image is not downloaded",
        ));
    };
    let Some(installation) = &host.spec.installation else {
        return Ok(Err("spec.installation is not set".into()));
    };
    let Some(keys) = keys(&installs.engine.client, host, record).await? else {
        return Ok(Err(format!(
            "Secret {} lacks the keys of this installation",
            host_key_secret(&host.name_any())
        )));
    };
    let preseed = match preseed(&installs.engine.client, host, installation).await? {
        Ok(preseed) => preseed,
        Err(problem) => return Ok(Err(problem)),
    };
    let authorized = match installs.hosts.authorized(host).await {
        Ok(authorized) => authorized,
        Err(error) => return Ok(Err(error.message)),
    };
    let report = media.report_url(&keys.token);
    let hints = host.spec.root_device_hints.clone().unwrap_or_default();
    let answers = Answers {
        id: &record.id,
        hostname: &host.name_any(),
        user: &host.spec.ssh.user,
        hints: &hints,
        authorized: &authorized,
        host_key: &keys.private,
        host_public: &keys.public,
        report: report.expose_secret(),
        preseed: &preseed,
    };
    let filled = match files(&answers) {
        Ok(files) => base.area.fill(&files).map_err(|error| error.to_string()),
        Err(error) => Err(Chain(&error).to_string()),
    };
    let filled = match filled {
        Ok(filled) => filled,
        Err(problem) => return Ok(Err(problem)),
    };
    let (waker, woken) = (installs.waker.clone(), observed.host.clone());
    let name = format!(
        "{}/{}",
        host.namespace().unwrap_or_default(),
        host.name_any()
    );
    media.open(
        (&host.uid().unwrap_or_default(), name),
        &keys.token,
        (base.clone(), filled),
        Box::new(move || waker.wake_object(&woken)),
    );
    Ok(Ok(media.image_url(&keys.token)))
}

async fn keys(
    client: &Client,
    host: &Host,
    record: &Record,
) -> Result<Option<Keys>, ReconcileError> {
    let name = host_key_secret(&host.name_any());
    let secrets: Api<Secret> =
        Api::namespaced(client.clone(), &host.namespace().unwrap_or_default());
    let secret = secrets.get_opt(&name).await;
    let secret = secret.map_err(ReconcileError::api(format!("read Secret {name}")))?;
    Ok(secret
        .filter(|secret| is_ours(secret, host))
        .and_then(|secret| {
            let text = |key: &str| {
                let value = secret.data.as_ref()?.get(key)?;
                String::from_utf8(value.0.clone()).ok()
            };
            if text(ID)? != record.id || text(HOST_PUBLIC)? != record.host_key {
                return None;
            }
            Some(Keys {
                private: text(HOST)?.into(),
                public: text(HOST_PUBLIC)?,
                token: Token::from_text(&text(TOKEN)?)?,
            })
        }))
}

/// The user's additional preseed answers.
async fn preseed(
    client: &Client,
    host: &Host,
    installation: &Installation,
) -> Result<Result<String, String>, ReconcileError> {
    let Some(reference) = &installation.preseed_ref else {
        return Ok(Ok(String::new()));
    };
    let namespace = host.namespace().unwrap_or_default();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &namespace);
    let name = &reference.name;
    let map = maps.get_opt(name).await;
    let map = map.map_err(ReconcileError::api(format!("read ConfigMap {name}")))?;
    let text = map.and_then(|map| map.data?.remove(PRESEED));
    Ok(text.ok_or_else(|| {
        format!("installation.preseedRef names ConfigMap {name}, but namespace {namespace} has no such ConfigMap with key {PRESEED}")
    }))
}
