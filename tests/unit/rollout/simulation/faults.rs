//! Writes that do not happen, or whose answer is lost, and a manager that starts anew.

use std::fmt::Write as _;

use super::*;

/// What goes wrong with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The manager ends before it; another one starts.
    Crash,
    /// It is done, and the answer is lost.
    Answer,
}

/// A pass that ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With the manager.
    Crash,
    /// With an error.
    Failed,
}

impl World {
    /// A write: it is done, it is heard of later, and it keeps the bounds; or the manager ends before it.
    pub(super) fn write(&mut self, change: impl FnOnce(&mut Self)) -> Result<(), Ended> {
        let fault = match &mut self.fault {
            Some((0, fault)) => Some(*fault),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        };
        if fault == Some(Fault::Crash) {
            return Err(Ended::Crash);
        }
        let before = (self.available(), self.machines.len());
        change(self);
        self.told();
        self.judge(before);
        match fault {
            Some(_) => {
                self.fault = None;
                Err(Ended::Failed)
            }
            None => Ok(()),
        }
    }

    /// Another manager starts: it lists everything, and remembers nothing.
    pub(super) fn restart(&mut self) {
        self.fault = None;
        self.in_flight = InFlight::default();
        self.looked = false;
        self.hear_all();
        let _ = writeln!(self.transcript, "manager     starts anew");
    }
}
