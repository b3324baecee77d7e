//! Templates to scripts: strict about undefined values, and every value quoted for the shell.

use std::fmt;
use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

/// A script for `bash -s` as root. It may carry secrets, so it is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Script(String);

impl Script {
    /// The text to feed to the shell.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Script({} bytes)", self.0.len())
    }
}

/// A template that did not render: a value with a NUL character, which a shell word cannot contain,
/// or an invalid template.
#[derive(Debug, thiserror::Error)]
#[error("failed to render {template}")]
pub struct RenderError {
    /// File under `templates/node/`, without `.j2`.
    pub template: String,
    /// The error of the template engine.
    #[source]
    source: Error,
}

/// Something that a script of ours should not have printed.
#[derive(Debug, thiserror::Error)]
#[error("failed to read what the host printed as {what}; it begins with {begin:?}")]
pub struct ParseError {
    /// What was expected.
    pub what: &'static str,
    /// The first characters of what came.
    pub begin: String,
    /// Where it does not fit.
    #[source]
    source: serde_json::Error,
}

impl ParseError {
    pub(super) fn new(what: &'static str, text: &str, source: serde_json::Error) -> Self {
        Self {
            what,
            begin: text.chars().take(200).collect(),
            source,
        }
    }
}

macro_rules! templates {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../templates/node/", $name, ".j2")))),*]
    };
}

pub(super) const TEMPLATES: &[(&str, &str)] = templates!(
    "follow.sh",
    "lib/check-api.sh",
    "lib/cleanup.sh",
    "lib/containerd.sh",
    "lib/durable.sh",
    "lib/etcd.sh",
    "lib/give-address.sh",
    "lib/interfaces.sh",
    "lib/json.sh",
    "lib/kube.sh",
    "lib/kubeadm.sh",
    "lib/marker.sh",
    "lib/moved.sh",
    "lib/occupied.sh",
    "lib/owner-field.sh",
    "lib/owner.sh",
    "lib/packages.sh",
    "lib/paths.sh",
    "lib/pki.sh",
    "lib/pods.sh",
    "lib/recorded.sh",
    "lib/room.sh",
    "lib/runs.sh",
    "lib/serves.sh",
    "lib/software.sh",
    "lib/step.sh",
    "lib/tasks.sh",
    "lib/units.sh",
    "lib/virtual-ip.sh",
    "log.sh",
    "observe.sh",
    "retain.sh",
    "run.sh",
    "start.sh",
    "steps/commands.sh",
    "steps/containerd.sh",
    "steps/files.sh",
    "steps/give-address.sh",
    "steps/images.sh",
    "steps/init.sh",
    "steps/join.sh",
    "steps/kernel.sh",
    "steps/kube.sh",
    "steps/kubeadm.sh",
    "steps/kubelet.sh",
    "steps/preflight.sh",
    "steps/proxy.sh",
    "steps/recorded.sh",
    "steps/recover.sh",
    "steps/reset-check.sh",
    "steps/reset-decided.sh",
    "steps/reset-host.sh",
    "steps/reset-node.sh",
    "steps/reset-release.sh",
    "steps/reset-virtual-ip.sh",
    "steps/addons.sh",
    "steps/upgrade.sh",
    "steps/virtual-ip.sh",
    "stop.sh",
    "take.sh",
);

pub(super) fn script(template: &'static str, values: Value) -> Result<Script, RenderError> {
    text(template, values).map(Script)
}

pub(super) fn text(template: &'static str, values: Value) -> Result<String, RenderError> {
    let rendered = match &*ENVIRONMENT {
        Ok(environment) => environment
            .get_template(template)
            .and_then(|template| template.render(values)),
        Err(error) => Err(Error::new(ErrorKind::InvalidOperation, error.to_string())),
    };
    rendered.map_err(|source| RenderError {
        template: template.to_owned(),
        source,
    })
}

/// One for all: a template is parsed when it is first rendered.
static ENVIRONMENT: LazyLock<Result<Environment<'static>, Error>> = LazyLock::new(environment);

fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    // Jinja's comment begins with the two characters of bash's `${#array[@]}`.
    let syntax = SyntaxConfig::builder()
        .comment_delimiters("<#", "#>")
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()?;
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.add_filter("sh", shell_words);
    environment.set_loader(|wanted| {
        let found = TEMPLATES.iter().find(|(name, _)| *name == wanted);
        Ok(found.map(|(_, source)| (*source).to_owned()))
    });
    Ok(environment)
}

/// One shell word, or one per item of a list.
pub(super) fn shell_words(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable => {
            let words: Result<Vec<_>, _> = value.try_iter()?.map(|item| word(&item)).collect();
            Ok(words?.join(" "))
        }
        _ => word(value),
    }
}

fn word(value: &Value) -> Result<String, Error> {
    let refuse = |why: &'static str| Err(Error::new(ErrorKind::InvalidOperation, why));
    let text = match value.kind() {
        // bare, because quotes are no part of the shell's arithmetic
        ValueKind::Number => return Ok(value.to_string()),
        // as the shell and TOML have it; the engine prints them as Python does
        ValueKind::Bool => return Ok(value.is_true().to_string()),
        ValueKind::String => value.to_string(),
        ValueKind::None => String::new(),
        _ => return refuse("only text, numbers, booleans and lists of them go into a script"),
    };
    if text.contains('\0') {
        return refuse("a shell word cannot hold a NUL character");
    }
    Ok(format!("'{}'", text.replace('\'', r"'\''")))
}
