//! The cloud-init seed of a virtual machine (`NoCloud`). JSON is YAML, so every value is written as
//! JSON, which escapes any content.

use minijinja::{Environment, UndefinedBehavior, context};
use secrecy::ExposeSecret;

use super::{Keys, USER, domain_name};
use tatara_core::api::LibvirtMachineProviderSpec;
use tatara_core::node::Marker;
use tatara_core::wire::Seed;

const USER_DATA: &str = include_str!("../../../templates/libvirt/user-data.j2");
const META_DATA: &str = include_str!("../../../templates/libvirt/meta-data.j2");

/// A template cannot be rendered, which is a bug.
#[derive(Debug, thiserror::Error)]
#[error("failed to render {template}")]
pub struct SeedError {
    /// File under `templates/libvirt/`, without `.j2`.
    pub template: &'static str,
    #[source]
    source: minijinja::Error,
}

/// The seed of a Machine's virtual machine. It is read at the first boot only, removed after the
/// first login, and a reboot does not need it.
///
/// # Errors
/// A template cannot be rendered.
pub fn seed(
    marker: &Marker,
    spec: &LibvirtMachineProviderSpec,
    keys: &Keys,
) -> Result<Seed, SeedError> {
    let mut authorized = vec![keys.authorized.clone()];
    authorized.extend(spec.ssh_authorized_keys.iter().cloned());
    let values = context! {
        id => &marker.uid,
        name => domain_name(marker),
        user => USER,
        authorized,
        // ends with a newline, as written by ssh-keygen
        host_key => format!("{}\n", keys.host_key.expose_secret()),
        host_public => &keys.host_public,
    };
    Ok(Seed {
        user_data: render("user-data", USER_DATA, &values)?.into(),
        meta_data: render("meta-data", META_DATA, &values)?,
        network_config: None,
    })
}

fn render(
    template: &'static str,
    text: &str,
    values: &minijinja::Value,
) -> Result<String, SeedError> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
        .render_str(text, values)
        .map_err(|source| SeedError { template, source })
}
