//! What the scripts of a unit are rendered from.

use minijinja::Value;

use super::job::JobKind;
use super::render::{self, RenderError};
use super::unit::{SecretFile, Step, Unit};

/// A unit whose scripts are not rendered.
#[derive(Clone, Debug)]
pub struct UnitSpec {
    /// What it is for.
    pub kind: JobKind,
    /// The steps, in order.
    pub(super) steps: Vec<StepSpec>,
    /// As those of the [`Unit`].
    pub(super) secrets: Vec<SecretFile>,
}

/// A step whose script is not rendered.
#[derive(Clone, Debug)]
pub(super) struct StepSpec {
    /// As that of the [`Step`].
    pub name: &'static str,
    /// As that of the [`Step`].
    pub title: &'static str,
    /// File under `templates/node/`, without `.j2`.
    pub template: &'static str,
    /// What the template names.
    pub values: Value,
}

impl UnitSpec {
    /// The unit.
    ///
    /// # Errors
    /// [`RenderError`]: a value contains a NUL character.
    pub fn render(&self) -> Result<Unit, RenderError> {
        Ok(Unit {
            kind: self.kind,
            steps: self.steps()?,
            secrets: self.secrets.clone(),
        })
    }

    pub(super) fn steps(&self) -> Result<Vec<Step>, RenderError> {
        self.steps.iter().map(StepSpec::render).collect()
    }
}

impl StepSpec {
    fn render(&self) -> Result<Step, RenderError> {
        Ok(Step {
            name: self.name,
            title: self.title,
            script: render::text(self.template, self.values.clone())?,
        })
    }
}
