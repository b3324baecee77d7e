//! What the words of conditions say that a host shows of a control plane: for commands of people,
//! which cannot ask hosts. That they say nothing proves nothing, so nothing is permitted by them.

/// What the host of a Machine shows, against the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeThere {
    /// `kubeadm init` succeeded there, and another Machine is recorded.
    ByAnother,
    /// Its marker names another Cluster.
    OtherCluster,
    /// `kubeadm init` succeeded there with another CA than the Cluster's.
    OtherAuthority,
}

impl MadeThere {
    /// By the message of a condition of the Machine.
    pub fn read(message: &str) -> Option<Self> {
        let all = [
            (
                "says that kubeadm init succeeded there, but the Machine with UID",
                Self::ByAnother,
            ),
            ("the marker on its host names Cluster ", Self::OtherCluster),
            (
                "kubeadm init succeeded on the host of this Machine with another CA",
                Self::OtherAuthority,
            ),
        ];
        let mut all = all.into_iter();
        all.find_map(|(part, what)| message.contains(part).then_some(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::conditions::ConditionType;
    use crate::control_plane::turn::Doubt;
    use crate::machine::plan::doubt::{self, ClusterName, Witness};
    use crate::node::Marker;

    const CLUSTER: ClusterName = ClusterName {
        namespace: "team",
        name: "a",
    };

    #[test]
    fn what_a_host_shows_is_read_from_the_words_of_its_machine() {
        let bootstrap = ConditionType::BootstrapReady;
        let marker = Marker {
            namespace: "team".into(),
            cluster: "b".into(),
            ..Marker::default()
        };
        let of_another = doubt::of_another(bootstrap, &marker, "h0", CLUSTER);
        let two = Doubt::TwoRecords("u".into(), "v".into());
        let other = Witness::Machine("cp-0".into());
        for (finding, expected) in [
            (
                doubt::made_twice(bootstrap, "u", "v", CLUSTER),
                Some(MadeThere::ByAnother),
            ),
            (of_another.expect("another"), Some(MadeThere::OtherCluster)),
            (
                doubt::of_another_authority(bootstrap, CLUSTER),
                Some(MadeThere::OtherAuthority),
            ),
            (two.finding(bootstrap, CLUSTER), None),
            (doubt::witnessed(bootstrap, &other, CLUSTER), None),
            (doubt::without_record(CLUSTER).finding(bootstrap), None),
        ] {
            let message = finding.message();
            assert_eq!(MadeThere::read(&message), expected, "{message}");
        }
    }
}
