//! `tatara crds`: the CustomResourceDefinitions of Tatara, as YAML or as a reference in Markdown.

mod markdown;

use std::io::Write;
use std::path::{Path, PathBuf};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use tokio::fs;

use tatara_core::api::crd;

pub use markdown::reference;

/// Arguments of `tatara crds`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write one file per kind into this directory instead of standard output
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Print the API reference as Markdown instead
    #[arg(long, conflicts_with = "directory")]
    markdown: bool,
}

/// Why the definitions could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A definition cannot be written as YAML.
    #[error("failed to write {name} as YAML")]
    Yaml {
        /// Name of the definition.
        name: String,
        /// Error of the YAML writer.
        #[source]
        source: serde_saphyr::SerializeError,
    },
    /// A file or standard output cannot be written.
    #[error("failed to write {path}")]
    Write {
        /// The file, or standard output.
        path: String,
        /// Error of the operating system.
        #[source]
        source: std::io::Error,
    },
}

impl Args {
    /// Writes the definitions to the directory or to standard output.
    ///
    /// # Errors
    /// A file or standard output cannot be written.
    pub async fn run(&self) -> Result<(), Error> {
        match &self.directory {
            Some(directory) => write_files(directory).await,
            None if self.markdown => print(&reference()),
            None => print(&stream()?),
        }
    }
}

/// One definition as a YAML document.
///
/// # Errors
/// The definition cannot be written as YAML.
pub fn yaml(crd: &CustomResourceDefinition) -> Result<String, Error> {
    serde_saphyr::to_string(crd).map_err(|source| Error::Yaml {
        name: crd.name_any(),
        source,
    })
}

/// All definitions as one YAML stream.
fn stream() -> Result<String, Error> {
    let mut stream = String::new();
    for crd in crd::all() {
        stream.push_str("---\n");
        stream.push_str(&yaml(&crd)?);
    }
    Ok(stream)
}

fn print(text: &str) -> Result<(), Error> {
    let written = std::io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|source| failed("standard output", source))
}

async fn write_files(directory: &Path) -> Result<(), Error> {
    let made = fs::create_dir_all(directory).await;
    made.map_err(|source| failed(&directory.to_string_lossy(), source))?;
    for crd in crd::all() {
        let path = directory.join(format!("{}.yaml", crd.name_any()));
        let written = fs::write(&path, yaml(&crd)?).await;
        written.map_err(|source| failed(&path.to_string_lossy(), source))?;
    }
    Ok(())
}

fn failed(path: &str, source: std::io::Error) -> Error {
    let path = path.to_owned();
    Error::Write { path, source }
}
