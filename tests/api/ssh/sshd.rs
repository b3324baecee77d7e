//! A real sshd on a loopback port, with keys and configuration of its own.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tatara::remote::{Credential, Hop, Target};
use tatara_core::api::host::Privilege;

use crate::support::ports;

/// A key pair made by ssh-keygen.
pub struct Key {
    pub private: PathBuf,
    pub public: String,
}

impl Key {
    /// `kind` is a type, with `:bits` where they matter, and a format (`-m`) after a space.
    pub fn new(dir: &Path, name: &str, kind: &str, passphrase: &str) -> Key {
        let (kind, format) = kind.split_once(' ').unwrap_or((kind, "RFC4716"));
        let (kind, bits) = kind.split_once(':').unwrap_or((kind, ""));
        let private = dir.join(name);
        let mut command = Command::new("ssh-keygen");
        command.args([
            "-q", "-t", kind, "-m", format, "-N", passphrase, "-C", "test key",
        ]);
        command.args(["-a", "1", "-f"]).arg(&private);
        if !bits.is_empty() {
            command.args(["-b", bits]);
        }
        assert!(command.status().unwrap().success(), "ssh-keygen -t {kind}");
        let public = fs::read_to_string(private.with_extension("pub")).unwrap();
        Key {
            private,
            public: public.trim().to_string(),
        }
    }

    pub fn credential(&self, passphrase: Option<&str>) -> Arc<Credential> {
        let pem = fs::read(&self.private).unwrap();
        Arc::new(Credential::parse(&pem, passphrase.map(str::as_bytes)).unwrap())
    }

    /// `SHA256:…` as ssh-keygen computes it.
    pub fn fingerprint(&self) -> String {
        let output = Command::new("ssh-keygen")
            .arg("-lf")
            .arg(&self.private)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace().nth(1).unwrap().to_string()
    }
}

/// What an sshd is made of.
pub struct Setup<'a> {
    pub host_keys: &'a [&'a str],
    pub user_key: &'a str,
    pub config: &'a str,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        Self {
            host_keys: &["ed25519"],
            user_key: "ed25519",
            config: "",
        }
    }
}

/// Lines of a log, and a way to wait for one.
#[derive(Default)]
struct Log {
    lines: Mutex<Vec<String>>,
    more: Condvar,
}

/// Whether sshd said this. That a connection ended it says in three ways: a peer that leaves with
/// data unread resets it, and a peer that left while sshd was writing breaks the pipe.
fn says(line: &str, text: &str) -> bool {
    let ends = ["Connection reset by peer", "Broken pipe"];
    line.contains(text)
        || (text == "Connection closed" && ends.iter().any(|end| line.contains(end)))
}

impl Log {
    fn count(&self, text: &str) -> usize {
        self.lines
            .lock()
            .unwrap()
            .iter()
            .filter(|line| says(line, text))
            .count()
    }

    fn wait(&self, text: &str, count: usize) {
        let lines = self.lines.lock().unwrap();
        let short =
            |lines: &mut Vec<String>| lines.iter().filter(|line| says(line, text)).count() < count;
        let limit = Duration::from_secs(30);
        let (lines, result) = self.more.wait_timeout_while(lines, limit, short).unwrap();
        assert!(!result.timed_out(), "{count} x {text:?} in {lines:#?}");
    }
}

/// A running sshd; killed with all its connections when dropped.
pub struct Sshd {
    dir: tempfile::TempDir,
    listener: Child,
    log: Arc<Log>,
    pub port: u16,
    pub host_keys: Vec<Key>,
    pub user: Key,
}

impl Sshd {
    pub fn new() -> Sshd {
        Sshd::with(&Setup::default())
    }

    pub fn with(setup: &Setup) -> Sshd {
        let dir = tempfile::tempdir().unwrap();
        let host_keys: Vec<_> = setup
            .host_keys
            .iter()
            .enumerate()
            .map(|(n, kind)| Key::new(dir.path(), &format!("host{n}"), kind, ""))
            .collect();
        let user = Key::new(dir.path(), "user", setup.user_key, "");
        fs::write(
            dir.path().join("authorized_keys"),
            format!("{}\n", user.public),
        )
        .unwrap();
        fs::create_dir_all("/run/sshd").unwrap();
        // Another process can take the port between the look and the start: then another one.
        let (listener, log, port) = (0..5)
            .find_map(|_| start(dir.path(), &host_keys, setup.config))
            .expect("sshd listens on one of five ports");
        Sshd {
            dir,
            listener,
            log,
            port,
            host_keys,
            user,
        }
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn hop(&self) -> Hop {
        Hop {
            address: "127.0.0.1".into(),
            port: self.port,
            user: "root".into(),
            host_keys: self
                .host_keys
                .iter()
                .map(|key| key.public.clone())
                .collect(),
            credential: self.user.credential(None),
        }
    }

    pub fn target(&self) -> Target {
        Target {
            namespace: "default".into(),
            hop: self.hop(),
            privilege: Privilege::Root,
            jump: Vec::new(),
            trust_on_first_use: false,
        }
    }

    /// Lets `key` in as well.
    pub fn authorize(&self, key: &Key) {
        let path = self.dir.path().join("authorized_keys");
        let keys = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("{keys}{}\n", key.public)).unwrap();
    }

    /// Lines of sshd's log so far that contain `text`.
    pub fn logged(&self, text: &str) -> usize {
        self.log.count(text)
    }

    /// Waits until sshd's log has `count` lines that contain `text`.
    pub fn wait_logged(&self, text: &str, count: usize) {
        self.log.wait(text, count);
    }

    /// The processes that serve connections stand still: nothing is refused, and nothing answers.
    pub fn stop_answering(&self) {
        for pid in children_of(self.listener.id()) {
            let stop = ["-STOP", &pid.to_string()];
            assert!(Command::new("kill").args(stop).status().unwrap().success());
        }
    }

    /// Kills the processes that serve connections; the listener lives on.
    pub fn kill_connections(&self) -> usize {
        let children = children_of(self.listener.id());
        for pid in &children {
            kill(*pid);
        }
        children.len()
    }

    /// Kills all of it: nothing listens on the port any more.
    pub fn stop(&mut self) {
        let _ = self.listener.kill();
        let _ = self.listener.wait();
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.kill_connections();
        self.stop();
    }
}

fn start(dir: &Path, host_keys: &[Key], extra: &str) -> Option<(Child, Arc<Log>, u16)> {
    let port = ports::free().port();
    let path = dir.display();
    // Of a repeated keyword sshd takes the first: `extra` comes before the defaults.
    let mut config = format!(
        "{extra}\nListenAddress 127.0.0.1\nPort {port}\nPidFile none\nUsePAM no\nStrictModes no\n\
         AuthorizedKeysFile {path}/authorized_keys\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nMaxStartups 200\n\
         LogLevel VERBOSE\n"
    );
    for key in host_keys {
        writeln!(config, "HostKey {}", key.private.display()).unwrap();
    }
    let file = dir.join("sshd_config");
    fs::write(&file, config).unwrap();
    let mut child = Command::new("/usr/sbin/sshd")
        .args(["-D", "-e", "-f"])
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("/usr/sbin/sshd starts (apt-get install openssh-server)");
    let log = Arc::new(Log::default());
    let listening = follow(&mut child, Arc::clone(&log));
    if listening.recv_timeout(Duration::from_secs(20)).is_ok() {
        return Some((child, log, port));
    }
    let _ = child.kill();
    let _ = child.wait();
    eprintln!(
        "sshd did not listen on {port}: {:?}",
        log.lines.lock().unwrap()
    );
    None
}

/// Gathers sshd's log; the receiver hears when it listens, or fails when it ended.
fn follow(child: &mut Child, log: Arc<Log>) -> Receiver<()> {
    let (sender, receiver) = channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        for line in stderr.lines().map_while(Result::ok) {
            let listening = line.contains("Server listening on");
            log.lines.lock().unwrap().push(line);
            log.more.notify_all();
            if listening {
                let _ = sender.send(());
            }
        }
    });
    receiver
}

pub fn kill(pid: u32) {
    let _ = Command::new("kill")
        .args(["-9", &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

fn children_of(parent: u32) -> Vec<u32> {
    let parent_of = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| parent_of(*pid) == Some(parent))
        .collect()
}
