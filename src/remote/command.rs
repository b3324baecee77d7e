//! A script on a host: its complete transfer, and its output.

use std::fmt;

use russh::ChannelMsg;

use tatara_core::api::host::Privilege;

/// Limit of stdout and of stderr, in bytes.
pub const OUTPUT_LIMIT: usize = 4 << 20;
/// Limit of a line in bytes while following; a longer one is passed on in pieces.
const LINE_LIMIT: usize = 64 << 10;
/// Output of login scripts that is kept, for messages; older bytes are dropped once there are twice
/// as many.
const NOISE_LIMIT: usize = 64 << 10;
/// Limit of a user's ID and its line end.
const UID_LIMIT: usize = 32;

const GREETING: &str = "tatara-shell uid=";
const END: &str = "# tatara: end of script";

/// Output and exit status of a script.
///
/// `Debug` shows sizes only: scripts print secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Exit code; absent if a signal ended it.
    pub code: Option<u32>,
    /// Signal that ended it, such as `KILL`.
    pub signal: Option<String>,
    /// Standard output, at most [`OUTPUT_LIMIT`] bytes.
    pub stdout: Vec<u8>,
    /// Standard error, at most [`OUTPUT_LIMIT`] bytes.
    pub stderr: Vec<u8>,
    /// Whether one of the two exceeds the limit and is cut.
    pub truncated: bool,
}

impl Output {
    /// The exit status, for messages.
    pub fn end(&self) -> String {
        match (self.code, &self.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "no exit code".into(),
        }
    }

    /// Whether it exited with 0.
    pub fn success(&self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("code", &self.code)
            .field("signal", &self.signal)
            .field("stdout_bytes", &self.stdout.len())
            .field("stderr_bytes", &self.stderr.len())
            .field("truncated", &self.truncated)
            .finish()
    }
}

/// The command line: nothing else appears on it.
pub(super) fn shell(privilege: Privilege) -> &'static str {
    match privilege {
        Privilege::Root => "/bin/bash --norc --noprofile -s",
        Privilege::Sudo => "sudo -n -- /bin/bash --norc --noprofile -s",
    }
}

/// The input of [`shell`]: `script` between a prologue and an end mark.
///
/// The prologue reads the whole script before running any of it, so that a lost connection
/// runs nothing, and no command can consume the rest of the script as its input. Its greeting
/// proves that bash is running and as which user; the script runs as root or not at all.
pub(super) fn envelope(script: &str) -> String {
    // Bash reads up to the closing brace before it runs any of it; the rest is left to `cat`.
    format!(
        "{{ tatara_script=$(cat)\n\
         case $tatara_script in *'{END}') ;; *) exit 125 ;; esac\n\
         printf '%s%s\\n' '{GREETING}' \"$EUID\"\n\
         [ \"$EUID\" = 0 ] || exit 126\n\
         eval \"$tatara_script\" </dev/null\n\
         exit\n\
         }}\n\
         {script}\n\
         {END}\n"
    )
}

/// How the channel ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The script ran to its end.
    Done(Output),
    /// The shell ended before the greeting; its output, for messages.
    NoShell(String),
    /// The shell does not run as root; the script was not run.
    NotRoot(String),
    /// The connection ended before the script.
    Lost,
}

/// Reads a channel's messages and passes the lines of stdout to `on_line`.
pub(super) struct Transcript<F> {
    output: Output,
    noise: Vec<u8>,
    /// So many bytes of it have no greeting in them.
    searched: usize,
    uid: Option<String>,
    line: Vec<u8>,
    /// All output was received.
    whole: bool,
    /// The server did not start the shell.
    refused: bool,
    on_line: F,
}

impl<F: FnMut(&str)> Transcript<F> {
    pub(super) fn new(on_line: F) -> Self {
        Self {
            output: Output::default(),
            noise: Vec::new(),
            searched: 0,
            uid: None,
            line: Vec::new(),
            whole: false,
            refused: false,
            on_line,
        }
    }

    /// Reads one message; returns false after the last.
    pub(super) fn take(&mut self, message: ChannelMsg) -> bool {
        match message {
            ChannelMsg::Data { data } => self.take_stdout(&data),
            ChannelMsg::ExtendedData { data, .. } => {
                self.output.truncated |= keep(&mut self.output.stderr, &data);
            }
            ChannelMsg::ExitStatus { exit_status } => self.output.code = Some(exit_status),
            ChannelMsg::ExitSignal { signal_name, .. } => {
                self.output.signal = Some(signal(&signal_name));
            }
            ChannelMsg::Eof => self.whole = true,
            ChannelMsg::Close => {
                self.whole = true;
                return false;
            }
            ChannelMsg::Failure => {
                self.refused = true;
                return false;
            }
            _ => {}
        }
        true
    }

    /// The outcome, after the channel is closed or lost.
    pub(super) fn finish(mut self) -> Outcome {
        let ended = self.output.code.is_some() || self.output.signal.is_some();
        match self.uid.take() {
            _ if self.refused => {
                Outcome::NoShell("sshd does not run commands for this user".into())
            }
            _ if !(ended && self.whole) => Outcome::Lost,
            None => Outcome::NoShell(self.complaint()),
            Some(uid) if uid != "0" => Outcome::NotRoot(uid),
            Some(_) => {
                if !self.line.is_empty() {
                    self.emit();
                }
                Outcome::Done(self.output)
            }
        }
    }

    fn take_stdout(&mut self, data: &[u8]) {
        if self.uid.is_some() {
            return self.take_script_output(data);
        }
        self.noise.extend_from_slice(data);
        let Some(rest) = self.find_greeting() else {
            // not for each message: they may be many, and small
            if self.noise.len() > 2 * NOISE_LIMIT {
                let excess = self.noise.len() - NOISE_LIMIT;
                self.noise.drain(..excess);
                self.searched = self.searched.saturating_sub(excess);
            }
            return;
        };
        self.take_script_output(&rest);
    }

    /// Finds the greeting after the output of login scripts, in what was not searched yet; returns
    /// the output after it.
    fn find_greeting(&mut self) -> Option<Vec<u8>> {
        let length = GREETING.len();
        loop {
            let new = &self.noise[self.searched..];
            let found = new.windows(length).position(|at| at == GREETING.as_bytes());
            let Some(at) = found else {
                // its beginning may have come
                self.searched += new.len().saturating_sub(length - 1);
                return None;
            };
            self.searched += at;
            let start = self.searched + length;
            let line = &self.noise[start..];
            let line = &line[..line.len().min(UID_LIMIT)];
            match line.iter().position(|byte| *byte == b'\n') {
                Some(end) => {
                    self.uid = Some(String::from_utf8_lossy(&line[..end]).into_owned());
                    let rest = self.noise.split_off(start + end + 1);
                    self.noise = Vec::new();
                    return Some(rest);
                }
                None if line.len() < UID_LIMIT => return None,
                None => self.searched = start,
            }
        }
    }

    fn take_script_output(&mut self, data: &[u8]) {
        self.output.truncated |= keep(&mut self.output.stdout, data);
        for byte in data {
            if *byte == b'\n' {
                self.emit();
            } else {
                self.line.push(*byte);
                if self.line.len() >= LINE_LIMIT {
                    self.emit();
                }
            }
        }
    }

    fn emit(&mut self) {
        (self.on_line)(&String::from_utf8_lossy(&self.line));
        self.line.clear();
    }

    /// The last line of stderr, otherwise of stdout, otherwise the exit code: the output of login
    /// scripts is before it.
    fn complaint(&self) -> String {
        let last = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
            Some(line.chars().take(200).collect())
        };
        last(&self.output.stderr)
            .or_else(|| last(&self.noise))
            .unwrap_or_else(|| match (&self.output.code, &self.output.signal) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => "nothing".into(),
            })
    }
}

/// Keeps the bytes within the limit; returns whether any exceeded it.
fn keep(kept: &mut Vec<u8>, data: &[u8]) -> bool {
    let room = OUTPUT_LIMIT - kept.len();
    kept.extend_from_slice(&data[..data.len().min(room)]);
    data.len() > room
}

fn signal(signal: &russh::Sig) -> String {
    match signal {
        russh::Sig::Custom(name) => name.clone(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
