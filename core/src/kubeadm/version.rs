//! Kubernetes versions: what this release of Tatara runs, and which steps between versions are
//! safe.

use core::fmt;
use core::str::FromStr;

/// Oldest minor of Kubernetes that a cluster may run: the first whose kubeadm reads configuration
/// v1beta4.
pub const OLDEST_MINOR: u64 = 31;
/// Newest minor of Kubernetes that a cluster may run.
pub const NEWEST_MINOR: u64 = 37;
/// How many minors a kubelet may be behind its API server, according to the version skew policy of
/// Kubernetes (<https://kubernetes.io/releases/version-skew-policy/>).
pub const MAX_KUBELET_LAG: u64 = 3;

/// A full version of Kubernetes; `1.37.2` and `v1.37.2` are the same one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion(semver::Version);

/// Why a version, or a step between two, is refused. The text names field, value and remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not a version at all.
    #[error("{field} is {value:?}, which is not a version; write it in full, such as v1.37.2")]
    Malformed {
        /// The field, such as `spec.versions.kubelet`.
        field: String,
        /// Its value.
        value: String,
    },
    /// Older than this release runs.
    #[error(
        "{field} is {version}, which is too old; this release of Tatara runs v1.{OLDEST_MINOR} to v1.{NEWEST_MINOR}, so set a version of that range"
    )]
    TooOld {
        /// The field.
        field: String,
        /// Its value.
        version: KubernetesVersion,
    },
    /// Newer than this release knows.
    #[error(
        "{field} is {version}, which is too new; this release of Tatara runs v1.{OLDEST_MINOR} to v1.{NEWEST_MINOR}, so set a version of that range or install a newer Tatara"
    )]
    TooNew {
        /// The field.
        field: String,
        /// Its value.
        version: KubernetesVersion,
    },
    /// The control plane would go back.
    #[error(
        "spec.versions.controlPlane is {wanted}, but the control plane runs {running}, and a control plane does not go back: its data may have been written anew. Set {running} or newer"
    )]
    ControlPlaneDowngrade {
        /// What runs.
        running: KubernetesVersion,
        /// What is wanted.
        wanted: KubernetesVersion,
    },
    /// The control plane would skip a minor.
    #[error(
        "spec.versions.controlPlane is {wanted}, but the control plane runs {running}, and it moves one minor version at a time; set a full version of v1.{next} first, such as v1.{next}.0", next = running.minor() + 1
    )]
    ControlPlaneSkip {
        /// What runs.
        running: KubernetesVersion,
        /// What is wanted.
        wanted: KubernetesVersion,
    },
    /// A control-plane upgrade would leave a kubelet too far behind.
    #[error(
        "spec.versions.controlPlane is {wanted}, but machine {machine} still runs kubelet {kubelet}, and a kubelet may be at most {MAX_KUBELET_LAG} minor versions behind; set spec.versions.kubelet of its Machine to a full version of v1.{oldest} or newer first", oldest = wanted.minor().saturating_sub(MAX_KUBELET_LAG)
    )]
    KubeletLeftBehind {
        /// What is wanted.
        wanted: KubernetesVersion,
        /// The machine with that kubelet.
        machine: String,
        /// Its version.
        kubelet: KubernetesVersion,
    },
    /// A kubelet newer than the control plane. It resolves itself when the control plane is
    /// upgraded.
    #[error(
        "spec.versions.kubelet is {kubelet}, ahead of the control plane at {control_plane}; it waits until spec.versions.controlPlane of the control-plane machines is v1.{minor} and rolled out", minor = kubelet.minor()
    )]
    KubeletAhead {
        /// The kubelet's version.
        kubelet: KubernetesVersion,
        /// The control plane's.
        control_plane: KubernetesVersion,
    },
    /// A kubelet newer than the control plane of the same Machine.
    #[error(
        "spec.versions.kubelet is {kubelet}, newer than spec.versions.controlPlane {control_plane} of the same Machine, and no kubelet may be newer than its control plane; if controlPlane was lowered, set spec.versions.controlPlane to {kubelet} or newer: a control plane never goes back to an older version. If kubelet was raised alone, raise spec.versions.controlPlane too, or set spec.versions.kubelet to {control_plane}"
    )]
    KubeletAheadOfItsOwn {
        /// The kubelet's version.
        kubelet: KubernetesVersion,
        /// The control plane's.
        control_plane: KubernetesVersion,
    },
    /// A kubelet older than the skew policy allows.
    #[error(
        "spec.versions.kubelet is {kubelet}, more than {MAX_KUBELET_LAG} minor versions behind the control plane at {control_plane}; set a full version of v1.{oldest} to v1.{newest}", oldest = control_plane.minor().saturating_sub(MAX_KUBELET_LAG), newest = control_plane.minor()
    )]
    KubeletTooFarBehind {
        /// The kubelet's version.
        kubelet: KubernetesVersion,
        /// The control plane's.
        control_plane: KubernetesVersion,
    },
}

impl VersionError {
    /// Whether it resolves itself, so that the Machine waits instead of failing.
    pub fn is_wait(&self) -> bool {
        matches!(self, Self::KubeletAhead { .. })
    }
}

impl KubernetesVersion {
    /// The first release of the newest minor version that this release of Tatara runs.
    pub fn newest() -> Self {
        Self(semver::Version::new(1, NEWEST_MINOR, 0))
    }

    /// Parses the version in `field`, whatever its age.
    ///
    /// # Errors
    /// [`VersionError::Malformed`]: it is not a full version.
    pub fn parse(field: &str, value: &str) -> Result<Self, VersionError> {
        value.parse().map_err(|_| VersionError::Malformed {
            field: field.to_owned(),
            value: value.to_owned(),
        })
    }

    /// Parses the version in `field`, and refuses what this release does not run.
    ///
    /// # Errors
    /// [`VersionError`]: it is not a full version, or not between [`OLDEST_MINOR`] and [`NEWEST_MINOR`].
    pub fn supported(field: &str, value: &str) -> Result<Self, VersionError> {
        let version = Self::parse(field, value)?;
        let field = field.to_owned();
        match (version.0.major, version.0.minor) {
            (0, _) | (1, ..OLDEST_MINOR) => Err(VersionError::TooOld { field, version }),
            (1, OLDEST_MINOR..=NEWEST_MINOR) => Ok(version),
            _ => Err(VersionError::TooNew { field, version }),
        }
    }

    /// The minor: 37 of v1.37.2.
    pub fn minor(&self) -> u64 {
        self.0.minor
    }
}

impl FromStr for KubernetesVersion {
    type Err = semver::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).map(Self)
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// Whether this release runs the versions of a block such as `spec.versions`, and they go together.
/// An absent or empty `controlPlane` is a worker's.
///
/// # Errors
/// [`VersionError`]: a version is malformed or not supported, or the kubelet does not fit the control plane.
pub fn check_block(
    block: &str,
    kubelet: &str,
    control_plane: Option<&str>,
) -> Result<(), VersionError> {
    let kubelet = KubernetesVersion::supported(&format!("{block}.kubelet"), kubelet)?;
    let control_plane = control_plane.filter(|version| !version.is_empty());
    let Some(control_plane) = control_plane else {
        return Ok(());
    };
    let field = format!("{block}.controlPlane");
    let control_plane = KubernetesVersion::supported(&field, control_plane)?;
    if kubelet.minor() > control_plane.minor() {
        return Err(VersionError::KubeletAheadOfItsOwn {
            kubelet,
            control_plane,
        });
    }
    check_kubelet(&kubelet, &control_plane)
}

/// Whether the control plane may go from one version to another: up within its minor, or to the
/// next one.
///
/// # Errors
/// [`VersionError::ControlPlaneDowngrade`] or [`VersionError::ControlPlaneSkip`].
pub fn check_control_plane_step(
    running: &KubernetesVersion,
    wanted: &KubernetesVersion,
) -> Result<(), VersionError> {
    let (running, wanted) = (running.clone(), wanted.clone());
    if wanted < running {
        return Err(VersionError::ControlPlaneDowngrade { running, wanted });
    }
    if wanted.minor() > running.minor() + 1 {
        return Err(VersionError::ControlPlaneSkip { running, wanted });
    }
    Ok(())
}

/// Whether a control plane of this version leaves every kubelet within the skew that Kubernetes
/// supports. `kubelets` are pairs of machine name and version.
///
/// # Errors
/// [`VersionError::KubeletLeftBehind`], for the first such kubelet.
pub fn check_kubelets_follow<'a>(
    wanted: &KubernetesVersion,
    kubelets: impl IntoIterator<Item = (&'a str, &'a KubernetesVersion)>,
) -> Result<(), VersionError> {
    for (machine, kubelet) in kubelets {
        if kubelet.minor() + MAX_KUBELET_LAG < wanted.minor() {
            return Err(VersionError::KubeletLeftBehind {
                wanted: wanted.clone(),
                machine: machine.to_owned(),
                kubelet: kubelet.clone(),
            });
        }
    }
    Ok(())
}

/// Whether a kubelet may run under a control plane: not of a newer minor, at most three minors
/// behind. Patch releases do not count, as in Kubernetes' policy and in kubeadm's preflight.
///
/// # Errors
/// [`VersionError::KubeletAhead`] or [`VersionError::KubeletTooFarBehind`].
pub fn check_kubelet(
    kubelet: &KubernetesVersion,
    control_plane: &KubernetesVersion,
) -> Result<(), VersionError> {
    let ahead = kubelet.minor() > control_plane.minor();
    let behind = kubelet.minor() + MAX_KUBELET_LAG < control_plane.minor();
    let (kubelet, control_plane) = (kubelet.clone(), control_plane.clone());
    if ahead {
        return Err(VersionError::KubeletAhead {
            kubelet,
            control_plane,
        });
    }
    if behind {
        return Err(VersionError::KubeletTooFarBehind {
            kubelet,
            control_plane,
        });
    }
    Ok(())
}

#[cfg(test)]
#[path = "version_tests.rs"]
mod tests;
