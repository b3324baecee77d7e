//! A host as it was before: everything that Kubernetes and Tatara made is undone.

use minijinja::context;

use super::super::job::JobKind;
use super::super::spec::UnitSpec;
use super::step;

/// What [`reset`] needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset<'a> {
    /// The cluster's pod networks; routes into them are removed.
    pub pod_cidrs: &'a [String],
}

/// The first step of a reset, which undoes nothing.
pub const DECIDED_STEP: &str = "decided";
/// Its last step, which removes the marker.
pub const LAST_OF_RESET: &str = "release";
/// Its exit code where kubeadm has run since the reset was decided on.
pub const DECIDED_LATE: i32 = 79;

/// The unit that frees a host, for [`super::super::start_decided`]. It waits there for a unit that
/// runs, and may arrive late: its first step ends it where kubeadm has run since it was decided on.
/// Its last step removes the marker, after the one that checks that the host is clean; when that
/// fails, its findings say what is left, and the marker stays.
pub fn reset(input: &Reset<'_>) -> UnitSpec {
    let networks = || context! { pod_cidrs => input.pod_cidrs.to_vec() };
    UnitSpec {
        kind: JobKind::Reset,
        steps: vec![
            step(
                DECIDED_STEP,
                "What it was decided on",
                "steps/reset-decided.sh",
                context! { late => DECIDED_LATE },
            ),
            step(
                "virtual-ip",
                "The cluster's address",
                "steps/reset-virtual-ip.sh",
                context! {},
            ),
            step("node", "Kubernetes' own", "steps/reset-node.sh", networks()),
            step("host", "Tatara's own", "steps/reset-host.sh", context! {}),
            step(
                "check",
                "Whether the host is clean",
                "steps/reset-check.sh",
                networks(),
            ),
            step(
                LAST_OF_RESET,
                "The marker",
                "steps/reset-release.sh",
                context! {},
            ),
        ],
        secrets: Vec::new(),
    }
}
