//! What kubeadm has recorded of a cluster: the `ClusterConfiguration` in ConfigMap
//! `kube-system/kubeadm-config`. `kubeadm join` renders the static pods of a new control plane at
//! the version that stands there, whatever its own.

use super::KubernetesVersion;

const FIELD: &str = "kubernetesVersion:";

/// What has to be done about the record before a control plane of some version joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordStep {
    /// It has that version.
    Keep,
    /// It is older; this is the configuration with the version of the one that joins.
    Raise {
        /// The version that stands there.
        from: KubernetesVersion,
        /// The whole `ClusterConfiguration`, with nothing else changed.
        configuration: String,
    },
    /// It is newer: what joins would get the static pods of that version.
    Newer {
        /// The version that stands there.
        recorded: KubernetesVersion,
        /// The whole `ClusterConfiguration` with the version of the one that joins.
        configuration: String,
    },
    /// It has no version that can be read.
    Unreadable,
}

/// The version that stands in this `ClusterConfiguration`; `None` if none can be read.
pub fn version(configuration: &str) -> Option<KubernetesVersion> {
    find(configuration).map(|(_, version)| version)
}

/// What has to be done about this `ClusterConfiguration` before a control plane of the `wanted`
/// version joins.
pub fn step(configuration: &str, wanted: &KubernetesVersion) -> RecordStep {
    let Some((at, from)) = find(configuration) else {
        return RecordStep::Unreadable;
    };
    if from == *wanted {
        return RecordStep::Keep;
    }
    let raised = |(line, text): (usize, &str)| {
        if line == at {
            format!("{FIELD} {wanted}\n")
        } else {
            text.to_owned()
        }
    };
    let lines = configuration.split_inclusive('\n').enumerate();
    let configuration = lines.map(raised).collect();
    if from > *wanted {
        return RecordStep::Newer {
            recorded: from,
            configuration,
        };
    }
    RecordStep::Raise {
        configuration,
        from,
    }
}

/// Whether a record that is newer than `wanted` may be set back: it was raised for a control plane
/// that runs no more (`due` is the version to which it was raised, and the addons have not
/// followed), all control planes that were started (`runs`, by their own API servers) run no more
/// than `wanted`, and etcd has no other voting members.
pub fn may_go_back(
    (recorded, wanted): (&KubernetesVersion, &KubernetesVersion),
    due: Option<&str>,
    runs: &[Option<KubernetesVersion>],
    voters: usize,
) -> bool {
    let was_raised = due.and_then(|due| due.parse().ok()).as_ref() == Some(recorded);
    let follows =
        |runs: &Option<KubernetesVersion>| runs.as_ref().is_some_and(|runs| runs <= wanted);
    was_raised && !runs.is_empty() && runs.iter().all(follows) && voters <= runs.len()
}

/// The line of the version, and the version. Only the field itself, which is not indented.
fn find(configuration: &str) -> Option<(usize, KubernetesVersion)> {
    let mut lines = configuration.lines().enumerate();
    let (at, value) = lines.find_map(|(at, line)| Some((at, line.strip_prefix(FIELD)?)))?;
    let value = value.trim().trim_matches(['"', '\'']);
    Some((at, value.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIGURATION: &str = "apiServer: {}\napiVersion: kubeadm.k8s.io/v1beta4\nfoo:\n  kubernetesVersion: v1.1.1\nkubernetesVersion: v1.35.4\nnetworking: {}\n";

    fn version(text: &str) -> KubernetesVersion {
        text.parse().expect("a version")
    }

    #[test]
    fn the_record_goes_back_only_where_nothing_ever_followed_it() {
        let runs = |all: &[&str]| -> Vec<Option<KubernetesVersion>> {
            all.iter().map(|text| text.parse().ok()).collect()
        };
        let due = Some("v1.36.3");
        let table = [
            (due, &["v1.35.4", "v1.35.4", "v1.35.4"][..], 3, true),
            (due, &["v1.35.4"], 1, true),
            // kubeadm upgrade, or somebody, raised it
            (None, &["v1.35.4"], 1, false),
            (Some("v1.35.9"), &["v1.35.4"], 1, false),
            // one runs the newer version, or has not said what it runs
            (due, &["v1.35.4", "v1.36.3"], 2, false),
            (due, &["v1.35.4", "?"], 2, false),
            // a member that no Machine has
            (due, &["v1.35.4"], 2, false),
            (due, &[], 0, false),
        ];
        let versions = (version("v1.36.3"), version("v1.35.4"));
        for (due, all, voters, expected) in table {
            let may = may_go_back((&versions.0, &versions.1), due, &runs(all), voters);
            assert_eq!(may, expected, "{due:?} {all:?} {voters}");
        }
    }

    #[test]
    fn the_record_rises_to_what_joins() {
        let step = |wanted| step(CONFIGURATION, &version(wanted));
        assert_eq!(step("v1.35.4"), RecordStep::Keep);
        assert_eq!(step("1.35.4"), RecordStep::Keep);
        let newer = RecordStep::Newer {
            recorded: version("v1.35.4"),
            configuration: CONFIGURATION.replace("v1.35.4", "v1.35.3"),
        };
        assert_eq!(step("v1.35.3"), newer);
        let RecordStep::Raise {
            from,
            configuration,
        } = step("v1.36.3")
        else {
            panic!("it rises");
        };
        assert_eq!(from, version("v1.35.4"));
        let expected = CONFIGURATION.replace("v1.35.4", "v1.36.3");
        assert_eq!(configuration, expected);
    }

    #[test]
    fn a_version_is_read_as_yaml_writes_it_or_not_at_all() {
        let wanted = version("v1.36.3");
        for (text, expected) in [
            ("kubernetesVersion: \"v1.36.3\"", RecordStep::Keep),
            ("kubernetesVersion: v1.36.3", RecordStep::Keep),
            ("kubernetesVersion: stable-1", RecordStep::Unreadable),
            ("", RecordStep::Unreadable),
        ] {
            assert_eq!(step(text, &wanted), expected, "{text}");
            let is_read = expected == RecordStep::Keep;
            assert_eq!(
                super::version(text),
                is_read.then(|| wanted.clone()),
                "{text}"
            );
        }
    }
}
