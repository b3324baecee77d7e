use serde_json::json;

use super::*;
use tatara_core::api::Host;
use tatara_core::api::cluster::{Turn, TurnAction};
use tatara_core::api::names::ANNOTATION_INITIALIZED;
use tatara_core::control_plane::turn::{Holder, Marks};

/// What Cluster and CA Secret record of the Machine.
#[derive(Clone, Copy)]
enum Says {
    Nothing,
    Record,
    Turn,
}

impl Says {
    fn marks(self) -> Marks {
        match self {
            Self::Nothing => Marks::default(),
            Self::Record => Marks {
                initialized: Some("m".into()),
                ..Marks::default()
            },
            Self::Turn => Marks {
                turn: Holder::Of(Turn {
                    machine: "m".into(),
                    name: "m".into(),
                    action: TurnAction::Init,
                }),
                ..Marks::default()
            },
        }
    }
}

fn stores(clusters: &[&str], claims: &[&str]) -> Stores {
    let stores = Stores::default();
    for name in clusters {
        let network = json!({ "services": { "cidrBlocks": [] }, "pods": { "cidrBlocks": [] }, "serviceDomain": "" });
        let cluster = json!({ "metadata": { "namespace": "n", "name": name, "uid": name },
            "spec": { "clusterNetwork": network } });
        let cluster = serde_json::from_value(cluster).expect("a Cluster");
        stores.clusters.hold(cluster);
    }
    for (index, cluster) in claims.iter().enumerate() {
        let host = json!({ "metadata": { "namespace": "n", "name": format!("h{index}") }, "spec": {
            "ssh": { "address": "192.0.2.1", "credentialsRef": { "name": "key" } },
            "consumerRef": { "name": "m", "uid": "m", "cluster": cluster } } });
        let host: Host = serde_json::from_value(host).expect("a Host");
        stores.hosts.hold(host);
    }
    stores
}

fn machine(label: Option<&str>, had_node: bool) -> Machine {
    let mut manifest =
        json!({ "metadata": { "namespace": "n", "name": "m", "uid": "m" }, "spec": {} });
    if let Some(label) = label {
        manifest["metadata"]["labels"] = json!({ LABEL_CLUSTER: label });
    }
    if had_node {
        manifest["status"] = json!({ "nodeRef": { "name": "node" } });
    }
    serde_json::from_value::<Machine>(manifest).expect("a Machine")
}

/// Name, record on its CA Secret, record on the Cluster.
type Marked<'a> = &'a [(&'a str, Says, Says)];

#[test]
fn a_cluster_that_was_made_from_the_yaml_of_another_captures_no_machine() {
    use Says::{Nothing, Record, Turn};
    // "a" sorts before all others
    let cases: [(&str, &str, Marked, Option<&str>); 10] = [
        (
            "its label was edited to a copy that knows by itself",
            "c",
            &[("b", Record, Record), ("c", Nothing, Record)],
            Some("b"),
        ),
        ("its own", "b", &[("b", Record, Record)], Some("b")),
        (
            "its own, not settled yet",
            "b",
            &[("b", Nothing, Turn)],
            Some("b"),
        ),
        (
            "its own, by the Secret alone",
            "b",
            &[("b", Turn, Nothing)],
            Some("b"),
        ),
        (
            "a copy with the record",
            "b",
            &[("a", Nothing, Record), ("b", Record, Record)],
            Some("b"),
        ),
        (
            "a copy with its CA Secret",
            "b",
            &[("a", Turn, Turn), ("b", Turn, Turn)],
            Some("b"),
        ),
        (
            "a copy names a worker",
            "b",
            &[("a", Nothing, Record), ("b", Nothing, Nothing)],
            None,
        ),
        (
            "the label was edited",
            "c",
            &[
                ("a", Nothing, Record),
                ("b", Record, Record),
                ("c", Nothing, Nothing),
            ],
            Some("b"),
        ),
        (
            "the label was edited, and there is a copy of both",
            "c",
            &[
                ("a", Record, Record),
                ("b", Record, Record),
                ("c", Nothing, Nothing),
            ],
            None,
        ),
        (
            "the label names no Cluster",
            "z",
            &[("a", Nothing, Turn), ("b", Turn, Turn)],
            Some("b"),
        ),
    ];
    for (case, label, marked, expected) in cases {
        let names: Vec<&str> = marked.iter().map(|(name, ..)| *name).collect();
        let both = |cluster: &Cluster| {
            let name = cluster.name_any();
            let found = marked.iter().find(|(of, ..)| *of == name);
            let (_, secret, itself) = found.expect("a Cluster");
            Some(Both {
                secret: secret.marks(),
                cluster: itself.marks(),
                no_secret: false,
            })
        };
        let found = recorded(&stores(&names, &[]), &machine(Some(label), false), both);
        let found = found.map(|cluster| cluster.name_any());
        assert_eq!(found.as_deref(), expected, "{case}");
    }
}

#[test]
fn a_cluster_finds_the_machines_that_lost_its_label() {
    for (case, label, claims, expected) in [
        ("its label", Some("b"), &["b"][..], &[][..]),
        ("its label, and nothing claimed yet", Some("b"), &[], &[]),
        ("another label", Some("c"), &["b"], &["m"]),
        ("none", None, &["b"], &["m"]),
        ("none, and nothing claimed", None, &[], &[]),
        ("another Cluster's", Some("c"), &["c"], &[]),
        (
            "another Cluster's, with another label",
            Some("a"),
            &["c"],
            &[],
        ),
    ] {
        let stores = stores(&["a", "b", "c"], claims);
        stores.machines.hold(machine(label, false));
        let own = stores.clusters.get("n", "b").expect("a Cluster");
        let found = unlabelled(&stores, &own, |_| Some(Both::default()), |_, _| Some(false));
        let found: Vec<_> = found.iter().map(|machine| machine.name_any()).collect();
        assert_eq!(found, expected, "{case}");
    }
}

/// Label, claims, Clusters with its Node (`?`: not connected), whether it had a Node, and the
/// Cluster that it belongs to.
const CASES: &str = "
    new                                        | b |     |     | no  | b
    claimed                                    | b | b   |     | no  | b
    edited                                     | c | b   | b   | yes | b
    edited before it had a Node                | c | b   |     | no  | b
    to none that exists                        | z | b   | b   | yes | b
    removed                                    |   | b   |     | yes | b
    claimed by one that is not connected       | b | b   | b? c | yes | b
    a label of one that is not connected       | c |     | b c? | yes | b
    its claim was edited                       | b | c   | b   | yes | b
    copied Hosts that agree                    | c | b b |     | yes | b
    copied Hosts that do not                   | c | a b |     | yes | c
    a claim for no Cluster that exists         | c | z   |     | yes | c
    a virtual machine                          | c |     | b   | yes | b
    its Node is where the label says           | c |     | b c | yes | c
    a Node elsewhere, and it had none          | c |     | b   | no  | c
";

#[test]
fn a_worker_stays_in_the_cluster_of_its_claim_or_node_whatever_its_label_becomes() {
    for line in CASES.trim().lines() {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [case, label, claims, nodes, had_one, expected] = columns[..] else {
            panic!("six columns: {line}");
        };
        let claims: Vec<&str> = claims.split_whitespace().collect();
        let stores = stores(&["a", "b", "c"], &claims);
        let nodes: Vec<&str> = nodes.split_whitespace().collect();
        let has_node = |cluster: &Cluster| {
            let (name, away) = (cluster.name_any(), format!("{}?", cluster.name_any()));
            let is_known = !nodes.contains(&away.as_str());
            is_known.then(|| nodes.contains(&name.as_str()))
        };
        let label = Some(label).filter(|label| !label.is_empty());
        let machine = machine(label, had_one == "yes");
        let found = cluster(&stores, &machine, |_| Some(Both::default()), has_node);
        let found = found.map(|cluster| cluster.name_any());
        assert_eq!(found.as_deref(), Some(expected), "{case}");
    }
}

/// The records of each Cluster as Secret/Cluster, claims, Nodes, and a part of the reported doubt.
/// The label names Cluster b.
const DOUBTS: &str = "
    its own                                 |                 | record/record   |   |   |
    nobody's                                | nothing/nothing | nothing/nothing |   |   |
    its own, by itself alone                | nothing/nothing | nothing/turn    |   |   |
    another's                               | record/record   | nothing/nothing |   |   |
    two                                     | record/record   | record/record   |   |   | Clusters a and b
    two, and its claim is of its own        | record/record   | record/record   | b |   |
    two, and its claim is of the other      | record/record   | record/record   | a |   | Clusters a and b
    two, and its Node is its own's          | record/record   | record/record   |   | b |
    its own by itself, and another's Secret | record/record   | nothing/record  | b |   | Clusters a and b
    another, unread                         | unread/record   | nothing/nothing |   |   | Cluster a names it
    unread                                  | unread/nothing  | nothing/nothing |   |   | Secret a-ca
    unread, and its own and its claim say   | unread/nothing  | record/record   | b |   |
    unread, and nothing vouches for its own | unread/nothing  | record/record   |   |   | Secret a-ca
    its own, unread                         |                 | unread/nothing  |   |   | Secret b-ca
";

fn says(word: &str) -> Option<Says> {
    match word {
        "nothing" => Some(Says::Nothing),
        "record" => Some(Says::Record),
        "turn" => Some(Says::Turn),
        _ => None,
    }
}

#[test]
fn a_machine_that_two_clusters_name_or_of_which_a_secret_may_say_more_is_in_doubt() {
    for line in DOUBTS.trim().lines() {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [case, a, b, claims, nodes, expected] = columns[..] else {
            panic!("six columns: {line}");
        };
        let known = [("a", a), ("b", b)];
        let known: Vec<_> = known
            .iter()
            .filter_map(|(name, says)| Some((*name, says.split_once('/')?)))
            .collect();
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let claims: Vec<&str> = claims.split_whitespace().collect();
        let stores = stores(&names, &claims);
        // if its Secret is not read, only the Cluster itself is known
        for (name, (_, itself)) in &known {
            let mut cluster = (*stores.clusters.get("n", name).expect("a Cluster")).clone();
            if *itself == "record" {
                let mark = (ANNOTATION_INITIALIZED.to_owned(), "m".to_owned());
                cluster.metadata.annotations = Some([mark].into());
            }
            stores.clusters.hold(cluster);
        }
        let both = |cluster: &Cluster| {
            let name = cluster.name_any();
            let (_, (secret, itself)) = known.iter().find(|(of, _)| *of == name)?;
            Some(Both {
                secret: says(secret)?.marks(),
                cluster: says(itself)?.marks(),
                no_secret: false,
            })
        };
        let mut machine = machine(Some("b"), false);
        let label = (LABEL_CONTROL_PLANE.to_owned(), "true".to_owned());
        let labels = machine.metadata.labels.get_or_insert_default();
        labels.extend([label]);
        let has_node = |cluster: &Cluster| Some(cluster.name_any() == nodes);
        let found = doubt(&stores, &machine, both, has_node);
        let found = found.unwrap_or_default();
        let is_expected = found.is_empty() == expected.is_empty() && found.contains(expected);
        assert!(is_expected, "{case}: {found}");
    }
}
