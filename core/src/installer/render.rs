//! The files of one host.

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};

use super::cpio::File;
use crate::api::installation::RootDeviceHints;

/// What an installer has to know.
pub struct Answers<'a> {
    /// Names this installation; the installed system shows it in `/etc/tatara-installation`.
    pub id: &'a str,
    /// What the host is to call itself.
    pub hostname: &'a str,
    /// User that we log in as.
    pub user: &'a str,
    /// Which disk.
    pub hints: &'a RootDeviceHints,
    /// Our public key.
    pub authorized: &'a str,
    /// Private host key, in OpenSSH's form.
    pub host_key: &'a SecretString,
    /// Its public half.
    pub host_public: &'a str,
    /// URL to which the installer reports, without a slash at the end.
    pub report: &'a str,
    /// Further answers of the user.
    pub preseed: &'a str,
}

/// A template that did not render: a value that it cannot contain, or an invalid template.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The error of the template engine; it contains no values.
    #[error("failed to render templates/installer/{template}")]
    Template {
        /// File.
        template: &'static str,
        /// The error.
        #[source]
        source: minijinja::Error,
    },
    /// It has a character that would end the line or the shell word that contains it.
    #[error(
        "{field} is {value:?}, which cannot be passed to an installer; use letters, digits and .:/_+= -"
    )]
    Value {
        /// Which.
        field: &'static str,
        /// What it is.
        value: String,
    },
}

const PRESEED: &str = include_str!("../../../templates/installer/preseed.cfg.j2");
const DISK: &str = include_str!("../../../templates/installer/disk.sh.j2");
const LATE: &str = include_str!("../../../templates/installer/late.sh.j2");

/// The files that an installer needs for one host.
///
/// # Errors
/// [`RenderError`]: a value has characters that cannot be passed to an installer, or a template does not render.
pub fn files(answers: &Answers) -> Result<Vec<File>, RenderError> {
    let hints = answers.hints;
    let serial = hints.serial_number.as_deref().unwrap_or_default();
    let wwn = hints.wwn.as_deref().unwrap_or_default();
    // what stands between quotes of a shell, or in a line of a preseed
    for (field, value) in [
        ("rootDeviceHints.serialNumber", serial),
        ("rootDeviceHints.wwn", wwn),
        ("ssh.user", answers.user),
        ("the host's name", answers.hostname),
        ("the address of the media", answers.report),
        ("the id of the installation", answers.id),
    ] {
        plain(field, value)?;
    }
    let values = context! {
        id => answers.id,
        hostname => answers.hostname,
        user => answers.user,
        serial => serial,
        wwn => wwn,
        report => answers.report,
        preseed => answers.preseed.trim_end(),
    };
    let file = |path, template, text| -> Result<File, RenderError> {
        Ok(File {
            path,
            mode: 0o600,
            content: Zeroizing::new(render(template, text, &values)?.into_bytes()),
        })
    };
    let raw = |path, text: &str| File {
        path,
        mode: 0o600,
        content: Zeroizing::new(format!("{}\n", text.trim_end()).into_bytes()),
    };
    Ok(vec![
        file("preseed.cfg", "preseed.cfg.j2", PRESEED)?,
        file("tatara/disk", "disk.sh.j2", DISK)?,
        file("tatara/late", "late.sh.j2", LATE)?,
        raw("tatara/authorized_keys", answers.authorized),
        raw("tatara/ssh_host_ed25519_key.pub", answers.host_public),
        raw(
            "tatara/ssh_host_ed25519_key",
            answers.host_key.expose_secret(),
        ),
    ])
}

fn plain(field: &'static str, value: &str) -> Result<(), RenderError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".:/_+= -[]".contains(c);
    if value.chars().all(is_plain) {
        return Ok(());
    }
    Err(RenderError::Value {
        field,
        value: value.to_owned(),
    })
}

fn render(
    template: &'static str,
    text: &str,
    values: &minijinja::Value,
) -> Result<String, RenderError> {
    let failed = |source| RenderError::Template { template, source };
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .map_err(failed)?;
    environment.set_syntax(syntax);
    environment.render_str(text, values).map_err(failed)
}
