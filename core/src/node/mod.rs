//! The steps that run on a host, and the protocol by which they are started, followed and observed.
//! Renders scripts from `templates/node/` and reads what they print; no I/O.
//!
//! | on the host | what it is |
//! |---|---|
//! | `/var/lib/tatara/owner.json` | the ownership marker, [`Marker`] |
//! | `/var/lib/tatara/lock` | held (flock) by the one unit that works |
//! | `/var/lib/tatara/machines/<uid>/<job>/` | `identity`, and `NN-step.{sh,log,rc}` of each step; `failed-<step>-<attempt>.log` of one that failed, and `failing` until it succeeds |
//! | `/run/tatara/<uid>/<job>/` | secrets, in memory, deleted when the unit has ended |
//! | `/run/tatara-versions/` | what kubelet, kubeadm and containerd last said of their versions, each for as long as its file is the same |
//! | `/run/tatara-looked` | the number of the latest connection of a leading manager that looked: what came over a former one starts nothing |
//!
//! Each function returns a [`Script`] to feed to `bash -s` as root. A [`Unit`]'s steps run one
//! after another in one transient systemd unit; an exit code is written to the disk before the next
//! step starts. Whoever waits holds no state: the script of a running step is locked, waiting is
//! taking its lock, and attaching again is sending the script again.

mod attempt;
mod cause;
mod event;
mod finding;
mod follow;
mod identities;
mod job;
mod marker;
mod observation;
mod protocol;
mod render;
mod spec;
mod steps;
mod unit;

pub use attempt::{Attempt, Setback, Wanted};
pub use cause::Cause;
pub use event::{Event, Failure, Progress, Take, UnitState, UnitStatus, parse_event, parse_take};
pub use finding::Finding;
pub use follow::{Attempts, Follow};
pub use identities::{Identities, PlannedUnit};
pub use job::{Job, JobKind};
pub use marker::{Marker, Owner, Ownership};
pub use observation::{Observation, SoftwareVersions, parse_observation};
pub use protocol::{
    Leader, follow, follow_log, log, observe, retain, start_afresh, start_and_follow,
    start_decided, stop, take_host,
};
pub use render::{ParseError, RenderError, Script};
pub use spec::UnitSpec;
pub use steps::{
    Bootstrap, DECIDED_LATE, DECIDED_STEP, LAST_OF_RESET, POST_KUBEADM, Prepare, Reset, Role,
    UPGRADE_STEP, UnitError, VirtualIpInput, addons, address, archives, give_address, init, join,
    kubelet, prepare, reset, upgrade,
};
pub use unit::{ControlPlaneFile, SecretFile, Step, Unit};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod update_tests;
