//! Scripts that take a host, start and follow units, and observe.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::jiff::Timestamp;
use minijinja::{Value, context};
use secrecy::ExposeSecret as _;

use super::job::{Job, JobKind};
use super::marker::Marker;
use super::observation::Observation;
use super::render::{self, RenderError, Script};
use super::unit::{SecretFile, Step, Unit};

/// Time limit of a step, in seconds; a step that exceeds it ends with exit code 124 and releases
/// the host's lock. Longer than kubeadm's own waits together (about 15 minutes when nothing
/// answers) and a slow image pull.
const STEP_SECONDS: u32 = 45 * 60;

/// The leader that looks at a host, for [`observe`].
#[derive(Clone, Copy, Debug)]
pub struct Leader<'a> {
    /// UID of its management cluster, as in [`Marker::management`].
    pub management: &'a str,
    /// Namespace of the Machines that may have the host.
    pub namespace: &'a str,
    /// A number that a later connection has higher, also of a later leader: microseconds since 1970
    /// when that began to lead, and the connections since.
    pub epoch: i64,
}

/// Writes the marker, if the host has none. Its output is read by [`super::parse_take`].
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn take_host(marker: &Marker) -> Result<Script, RenderError> {
    let values = context! { marker => marker_value(marker), marker_json => marker.json() };
    render::script("take.sh", values)
}

/// Starts a unit, unless it runs or has succeeded with the same identity, and follows it. Prints
/// [`super::Event`]s. A unit that failed or was interrupted is started again: use [`follow`] or
/// [`observe`] to only query its state.
///
/// Nothing is started where a leader of a later `epoch` ([`Leader`]) has observed the host. `now`
/// is the manager's clock; the host keeps the difference for its preflight.
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn start_and_follow(
    marker: &Marker,
    unit: &Unit,
    epoch: i64,
    now: Timestamp,
) -> Result<Script, RenderError> {
    start(marker, unit, &Start::default(), (epoch, now))
}

/// As [`start_and_follow`], also where the unit has succeeded: what it did was undone since.
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn start_afresh(
    marker: &Marker,
    unit: &Unit,
    epoch: i64,
    now: Timestamp,
) -> Result<Script, RenderError> {
    let afresh = Start {
        afresh: true,
        ..Start::default()
    };
    start(marker, unit, &afresh, (epoch, now))
}

/// As [`start_afresh`], of a unit that was decided on by an observation, also one in which it had
/// succeeded: it has its [`Observation::kubeadm_runs`] beside it.
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn start_decided(
    marker: &Marker,
    unit: &Unit,
    seen: &Observation,
    epoch: i64,
    now: Timestamp,
) -> Result<Script, RenderError> {
    let decided = Start {
        afresh: true,
        decided: Some(&seen.kubeadm_runs),
    };
    start(marker, unit, &decided, (epoch, now))
}

#[derive(Default)]
struct Start<'a> {
    /// Also where it has succeeded.
    afresh: bool,
    decided: Option<&'a str>,
}

fn start(
    marker: &Marker,
    unit: &Unit,
    how: &Start<'_>,
    (epoch, now): (i64, Timestamp),
) -> Result<Script, RenderError> {
    let run = render::text(
        "run.sh",
        context! { marker => marker_value(marker), step_seconds => STEP_SECONDS },
    )?;
    let mut files = vec![file("run.sh", &run)];
    files.extend(unit.steps.iter().zip(1..).map(step_file));
    let secrets: Vec<Value> = unit.secrets.iter().map(secret_file).collect();
    render::script(
        "start.sh",
        context! {
            marker => marker_value(marker),
            unit => unit.kind.as_str(),
            identity => unit.identity(),
            afresh => how.afresh,
            decided => how.decided,
            epoch,
            files,
            secrets,
            now => now.as_millisecond(),
        },
    )
}

/// Attaches to a job until it has ended; starts nothing. Prints [`super::Event`]s.
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn follow(job: &Job) -> Result<Script, RenderError> {
    render::script(
        "follow.sh",
        context! { uid => &job.key, unit => job.kind.as_str() },
    )
}

/// Gathers facts, marker, findings, units and versions. Prints what [`super::parse_observation`]
/// reads. With a leader, the host starts nothing any more that a former one has sent, if its marker
/// is of such a Machine.
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn observe(leader: Option<Leader<'_>>) -> Result<Script, RenderError> {
    let leader = leader.map(|one| {
        context! { management => one.management, namespace => one.namespace, epoch => one.epoch }
    });
    render::script("observe.sh", context! { units => unit_names(), leader })
}

/// Stops the kubelet of a Machine for good. It leaves everything else as it is.
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn retain(marker: &Marker) -> Result<Script, RenderError> {
    render::script("retain.sh", context! { marker => marker_value(marker) })
}

/// Stops the jobs of a Machine that need its cluster, which is deleted, if the marker names both.
/// They are interrupted, as by a loss of power.
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn stop(marker: &Marker) -> Result<Script, RenderError> {
    let kinds = JobKind::ALL.into_iter().filter(|kind| kind.needs_cluster());
    let units: Vec<&str> = kinds.map(JobKind::as_str).collect();
    let values = context! { marker => marker_value(marker), cluster => &marker.cluster, units };
    render::script("stop.sh", values)
}

/// Prints the logs of a Machine's steps, of all or of one, in the order of its life; plain text.
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn log(machine_uid: &str, step: Option<&str>) -> Result<Script, RenderError> {
    log_script(machine_uid, step, false)
}

/// As [`log`], and follows the output of the steps while a unit runs.
///
/// # Errors
/// [`RenderError`]: a value contains a NUL character.
pub fn follow_log(machine_uid: &str, step: Option<&str>) -> Result<Script, RenderError> {
    log_script(machine_uid, step, true)
}

fn log_script(uid: &str, step: Option<&str>, follow: bool) -> Result<Script, RenderError> {
    let step = step.unwrap_or_default();
    render::script(
        "log.sh",
        context! { uid, step, follow, units => unit_names() },
    )
}

fn unit_names() -> Vec<&'static str> {
    JobKind::ALL.map(JobKind::as_str).to_vec()
}

fn marker_value(marker: &Marker) -> Value {
    context! {
        management => &marker.management,
        uid => &marker.uid,
        machine => &marker.machine,
    }
}

fn step_file((step, number): (&Step, u32)) -> Value {
    file(&format!("{number:02}-{}.sh", step.name), &step.script)
}

fn secret_file(secret: &SecretFile) -> Value {
    file(&secret.name, secret.content.expose_secret())
}

fn file(name: &str, text: &str) -> Value {
    context! { name, content => STANDARD.encode(text) }
}
