//! kubectl against a management plane with Tatara's definitions and install manifests in it, as a
//! person would see it.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::plane::Plane;
use super::programs::kubectl;

static INSTALLED: OnceLock<Installed> = OnceLock::new();

/// A plane in which Tatara is installed; it lives as long as the tests of the file.
pub struct Installed {
    plane: Arc<Plane>,
}

/// What a command said.
#[derive(Debug)]
pub struct Said {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

impl Said {
    /// Its output; it must have succeeded.
    pub fn out(self) -> String {
        assert!(self.ok, "{}", self.err);
        self.out
    }

    /// Its output as JSON.
    pub fn json(self) -> Value {
        serde_json::from_str(&self.out()).expect("JSON")
    }

    /// Its error, which must hold all of these.
    pub fn refused(self, case: &str, says: &[&str]) {
        assert!(!self.ok, "{case}: accepted");
        for text in says {
            assert!(
                self.err.contains(text),
                "{case}: no \"{text}\" in: {}",
                self.err
            );
        }
    }
}

/// The plane of this file, with everything in it.
pub fn installed() -> &'static Installed {
    INSTALLED.get_or_init(Installed::new)
}

pub fn repository(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.join(path).to_str().expect("text").to_owned()
}

impl Installed {
    fn new() -> Self {
        let installed = Self {
            plane: Plane::shared(),
        };
        installed
            .run(
                "create",
                &["-f", &repository("templates/install/if-missing")],
            )
            .out();
        for folder in ["crds", "templates/install"] {
            let arguments = [
                "--server-side",
                "--validate=strict",
                "-f",
                &repository(folder),
            ];
            let said = installed.run("apply", &arguments);
            assert!(!said.err.contains("Warning"), "{}", said.err);
            said.out();
        }
        let established = [
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "--all",
        ];
        installed.run("wait", &established).out();
        installed
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.plane.dir().join("admin.kubeconfig")
    }

    /// `kubectl ACTION ARGUMENTS`.
    pub fn run(&self, action: &str, arguments: &[&str]) -> Said {
        self.run_with(action, arguments, "")
    }

    /// `kubectl ACTION ARGUMENTS`, with this on its standard input.
    pub fn run_with(&self, action: &str, arguments: &[&str], input: &str) -> Said {
        let mut child = kubectl()
            .arg(action)
            .args(arguments)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl");
        let mut stdin = child.stdin.take().expect("its standard input");
        // It may end before it has read all.
        stdin.write_all(input.as_bytes()).ok();
        drop(stdin);
        let output = child.wait_with_output().expect("kubectl");
        Said {
            ok: output.status.success(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Creates an object; strictly, as kubectl does.
    pub fn create(&self, namespace: &str, object: &Value) -> Said {
        let arguments = ["-n", namespace, "-o", "json", "-f", "-"];
        self.run_with("create", &arguments, &object.to_string())
    }

    /// Merges a change into an object.
    pub fn patch(&self, namespace: &str, what: &[&str], change: &Value) -> Said {
        let change = change.to_string();
        let mut arguments = vec!["-n", namespace, "--type=merge", "-o", "json", "-p", &change];
        arguments.extend(what);
        self.run("patch", &arguments)
    }

    /// A namespace of this test's own.
    pub fn namespace(&self, name: &str) {
        self.run("create", &["namespace", name]).out();
    }

    /// Asks until the answer is right: what was installed takes effect after a moment.
    #[allow(clippy::disallowed_methods, reason = "a test has no other clock")]
    pub fn until(&self, what: &str, mut right: impl FnMut(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_mins(1);
        while !right(self) {
            assert!(Instant::now() < deadline, "{what}: not after 60 s");
        }
    }
}
