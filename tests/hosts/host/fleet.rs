//! A fleet of hosts of `hack/fleet`, taken down at the end of a test.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use tatara_core::node::{
    Event, JobKind, Leader, Marker, Observation, Script, Take, Unit, observe, parse_event,
    parse_observation, parse_take, start_and_follow, start_decided,
};

/// Of the leader from which scripts come.
pub const EPOCH: i64 = 1;

pub struct Fleet {
    name: &'static str,
    subnet: &'static str,
    state: tempfile::TempDir,
}

/// A script that runs on a host; its lines come one by one.
pub struct Attached {
    child: Child,
    lines: std::io::Split<BufReader<ChildStdout>>,
}

impl Fleet {
    pub fn new(name: &'static str, subnet: &'static str) -> Self {
        let state = tempfile::tempdir().unwrap();
        Self {
            name,
            subnet,
            state,
        }
    }

    pub fn command(&self) -> Command {
        self.hack_command("hack/fleet")
    }

    fn hack_command(&self, script: &str) -> Command {
        let mut command = Command::new(root().join(script));
        command
            .env("FLEET", self.name)
            .env("SUBNET", self.subnet)
            .env("TATARA_OWNER", std::process::id().to_string())
            .env("TATARA_STATE", self.state.path());
        command
    }

    pub fn address(&self, number: u8) -> String {
        format!("{}.{number}", self.subnet)
    }

    /// Starts a new host, and waits until sshd answers.
    pub fn start(&self, host: &str, number: u8, settings: &[(&str, &str)]) {
        let address = self.address(number);
        let mut command = self.command();
        command.args(["start", host, &address]);
        command.envs(settings.iter().copied());
        done(command);
        self.fleet(&["wait", host]);
    }

    pub fn fleet(&self, arguments: &[&str]) -> String {
        self.hack("hack/fleet", arguments)
    }

    /// The power is cut, and comes back.
    pub fn power_cycle(&self, host: &str) {
        self.fleet(&["kill", host]);
        self.fleet(&["start", host]);
        self.fleet(&["wait", host]);
    }

    /// Runs a script of `hack/` for this fleet.
    pub fn hack(&self, script: &str, arguments: &[&str]) -> String {
        let mut command = self.hack_command(script);
        command.args(arguments);
        done(command)
    }

    /// Runs shell commands on a host as root; they must succeed.
    pub fn shell(&self, host: &str, text: &str) -> String {
        let output = self.feed(host, text);
        let (stdout, stderr) = (lossy(&output.stdout), lossy(&output.stderr));
        assert!(
            output.status.success(),
            "{host}: {text}\n{stdout}\n{stderr}"
        );
        stdout
    }

    pub fn run(&self, host: &str, script: &Script) -> Vec<u8> {
        let output = self.feed(host, script.as_str());
        let stderr = lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{host}: {:?} {stderr}",
            output.status
        );
        assert_eq!(stderr, "", "{host}");
        output.stdout
    }

    fn feed(&self, host: &str, text: &str) -> Output {
        self.feed_as("root", host, &["bash", "-s"], text)
    }

    /// Feeds a text to a command on a host.
    pub fn feed_as(&self, login: &str, host: &str, command: &[&str], text: &str) -> Output {
        let mut child = self.ssh(login, host, command);
        let mut stdin = child.stdin.take().unwrap();
        let text = text.to_owned();
        let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        output
    }

    fn ssh(&self, login: &str, host: &str, on_host: &[&str]) -> Child {
        let mut command = self.command();
        command
            .env("LOGIN", login)
            .args(["ssh", host])
            .args(on_host);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    pub fn observe(&self, host: &str) -> Observation {
        parse_observation(&self.run(host, &observe(None).unwrap())).unwrap()
    }

    /// The same, by the leader of this epoch.
    pub fn observe_as(&self, host: &str, epoch: i64) -> Observation {
        let marker = marker("m1");
        let leader = Leader {
            management: &marker.management,
            namespace: &marker.namespace,
            epoch,
        };
        parse_observation(&self.run(host, &observe(Some(leader)).unwrap())).unwrap()
    }

    pub fn take(&self, host: &str, marker: &Marker) -> Take {
        let script = tatara_core::node::take_host(marker).unwrap();
        parse_take(&self.run(host, &script)).unwrap()
    }

    /// Runs a unit to its end; all that was printed, the end last.
    pub fn run_unit(&self, host: &str, marker: &Marker, unit: &Unit) -> Vec<Event> {
        let script = if unit.kind == JobKind::Reset {
            start_decided(marker, unit, &self.observe(host), EPOCH, now())
        } else {
            start_and_follow(marker, unit, EPOCH, now())
        };
        self.attach(host, &script.unwrap()).rest()
    }

    /// Sends a script and does not wait for its end.
    pub fn attach(&self, host: &str, script: &Script) -> Attached {
        let mut child = self.ssh("root", host, &["bash", "-s"]);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(script.as_str().as_bytes()).unwrap();
        drop(stdin);
        let stdout = child.stdout.take().unwrap();
        Attached {
            child,
            lines: BufReader::new(stdout).split(b'\n'),
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        if std::env::var_os("KEEP_FLEET").is_none() {
            self.fleet(&["down"]);
        } else {
            self.state.disable_cleanup(true);
        }
    }
}

impl Attached {
    pub fn next(&mut self) -> Option<Event> {
        let line = lossy(&self.lines.next()?.unwrap());
        Some(parse_event(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    pub fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next() {
            events.push(event);
        }
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", lossy(&output.stderr));
        events
    }

    /// `kill -9` of the SSH client: the connection is gone, as with a manager that dies.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn done(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        lossy(&output.stderr)
    );
    lossy(&output.stdout)
}

pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn now() -> k8s_openapi::jiff::Timestamp {
    tatara::clock::now()
}

pub fn marker(uid: &str) -> Marker {
    Marker {
        management: "0d7a2f0e-6f0e-4b52-9d35-6c7d2a3f5e11".into(),
        namespace: "default".into(),
        cluster: "quick".into(),
        machine: format!("quick-{uid}"),
        uid: uid.into(),
    }
}
