//! A gateway of one test: the program itself, on libvirt's test driver or a real libvirtd.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::client::Client;

/// A hypervisor of the test driver, with a domain that is not ours: 8 CPUs, 16 GiB, network and
/// pool `default`.
pub const NODE: &str = r"<node>
  <domain type='test'><name>foreign</name><uuid>6695eb01-f6a4-8304-79aa-97f2502e1930</uuid>
    <memory>1048576</memory><vcpu>2</vcpu><os><type>hvm</type></os></domain>
  <network><name>default</name><bridge name='virbr0'/>
    <ip address='192.168.122.1' netmask='255.255.255.0'/></network>
  <pool type='dir'><name>default</name><target><path>/nowhere</path></target></pool>
  <cpu><mhz>2000</mhz><model>test</model><active>8</active><nodes>1</nodes><sockets>1</sockets>
    <cores>8</cores><threads>1</threads></cpu>
  <memory>16777216</memory>
</node>";

/// UUID of the domain that is not ours.
pub const FOREIGN: &str = "6695eb01-f6a4-8304-79aa-97f2502e1930";

/// A running gateway. Dropped, it is ended by SIGTERM and waited for.
pub struct Gateway {
    pub folder: tempfile::TempDir,
    pub process: Child,
    log: PathBuf,
}

impl Gateway {
    /// On the test driver, on a Unix socket, with further arguments.
    pub fn start(arguments: &[&str]) -> Self {
        Self::of_node(NODE, arguments)
    }

    /// On the test driver with another hypervisor.
    pub fn of_node(node: &str, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("node.xml"), node).expect("a file");
        let uri = format!("test://{}/node.xml", folder.path().display());
        Self::on(&uri, folder, arguments)
    }

    /// On any libvirt.
    pub fn on(uri: &str, folder: tempfile::TempDir, arguments: &[&str]) -> Self {
        Self::within(&[], uri, folder, arguments)
    }

    /// On any libvirt, begun by another program.
    pub fn within(
        program: &[&str],
        uri: &str,
        folder: tempfile::TempDir,
        arguments: &[&str],
    ) -> Self {
        let log = folder.path().join("log");
        let socket = folder.path().join("socket").display().to_string();
        let gateway = env!("CARGO_BIN_EXE_tatara-gateway");
        let line = [
            program,
            &[gateway, "--libvirt", uri, "--unix-socket", &socket],
            arguments,
        ];
        let line = line.concat();
        let mut command = Command::new(line[0]);
        command.args(&line[1..]);
        let process = Self::spawn(command, &log);
        let gateway = Self {
            folder,
            process,
            log,
        };
        gateway.wait_for("listening on a Unix socket");
        gateway
    }

    /// Ends the gateway as a power cut would.
    pub fn kill(mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("an end");
    }

    fn spawn(mut command: Command, log: &Path) -> Child {
        let output = File::options()
            .create(true)
            .append(true)
            .open(log)
            .expect("a log");
        command.env("RUST_LOG", "tatara_gateway=debug,info");
        let command = command
            .stderr(output)
            .stdout(Stdio::null())
            .stdin(Stdio::null());
        command.spawn().expect("the gateway starts")
    }

    /// A client of the Unix socket.
    pub fn client(&self) -> Client {
        Client::socket(&self.folder.path().join("socket"))
    }

    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("the log")
    }

    /// The address that the gateway chose for HTTPS.
    pub fn address(&self) -> String {
        let line = self.wait_for("listening for HTTPS");
        let address = line.split("address=").nth(1).expect("an address");
        address.trim().trim_matches('"').to_owned()
    }

    /// The line of the log that has these words.
    #[allow(clippy::disallowed_methods)]
    pub fn wait_for(&self, words: &str) -> String {
        let end = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(line) = self.log().lines().find(|line| line.contains(words)) {
                return line.to_owned();
            }
            assert!(
                Instant::now() < end,
                "no line with {words:?} in\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks the gateway to end; how it ended.
    pub fn end(&mut self) -> std::process::ExitStatus {
        let pid = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
        self.process.wait().expect("an end")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.end();
        }
        if std::thread::panicking() {
            eprintln!("--- the gateway's log\n{}", self.log());
        }
    }
}

/// A file of tokens that the gateway accepts.
pub fn tokens(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("tokens");
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("a mode");
    path
}
