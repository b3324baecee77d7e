//! A folder in the place of a host: files that scripts read, and programs that stand in for those of a host.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use super::*;

pub struct Stage(tempfile::TempDir);

impl Stage {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn root(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    pub fn write(&self, path: &str, content: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// What a script wrote; nothing if it did not.
    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.0.path().join(path)).unwrap_or_default()
    }

    /// A program of this name, in bash.
    pub fn program(&self, name: &str, text: &str) {
        let path = format!("bin/{name}");
        self.write(&path, &format!("#!/bin/bash\n{text}\n"));
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.0.path().join(path), executable).unwrap();
    }

    /// Runs a script, for which these programs come first.
    pub fn run(&self, script: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let mut bash = Command::new("bash");
        bash.args(["-c", script]);
        bash.env("PATH", format!("{}/bin:{path}", self.root()));
        bash.output().unwrap()
    }
}
