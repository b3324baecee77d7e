//! Over which failure domains the Machines of a cluster are spread.

use super::*;

const CONTROL_PLANE: Option<bool> = Some(true);
const WORKER: Option<bool> = Some(false);
const UNKNOWN: Option<bool> = None;

/// What stands in a failure domain: the cluster and the kind of each claim.
type Rack = &'static [(&'static str, Option<bool>)];

/// The rack in which a Machine of cluster `mine` claims one of the two free hosts of each.
fn rack(racks: &[Rack], is_control_plane: bool, uid: &str) -> String {
    let mut hosts = Vec::new();
    for (rack, claims) in (1..).zip(racks) {
        let rack = format!("r{rack}");
        let there =
            |name: String| changed(&host(&name), &json!({ "spec": { "failureDomain": rack } }));
        for (number, (cluster, kind)) in (0..).zip(*claims) {
            let taken = there(format!("{rack}-taken-{number}"));
            let kind = kind.map_or("unknown", |kind| if kind { "cp" } else { "worker" });
            hosts.push(changed(&taken, &claim_of(kind, cluster)));
        }
        hosts.extend((0..2).map(|number| there(format!("{rack}-free-{number}"))));
    }
    let kind_of = |host: &Host| match host.spec.consumer_ref.as_ref()?.uid.as_str() {
        "unknown" => UNKNOWN,
        kind => Some(kind == "cp"),
    };
    let chooser = Chooser {
        cluster: "mine",
        uid,
        is_control_plane,
    };
    let chosen = claim::choose(&wants(json!({})), &hosts, chooser, kind_of).expect("a host");
    let (rack, _) = chosen.split_once('-').expect("a rack");
    rack.to_owned()
}

#[test]
fn control_planes_are_spread_among_themselves_and_so_are_workers() {
    let cases: [(&str, &[Rack], &str, &str); 9] = [
        (
            "only r1 holds a machine of this cluster",
            &[
                &[("mine", UNKNOWN)],
                &[("other", CONTROL_PLANE), ("other", WORKER)],
            ],
            "r2",
            "r2",
        ),
        (
            "workers fill the other rack",
            &[
                &[("mine", CONTROL_PLANE)],
                &[("mine", WORKER), ("mine", WORKER), ("mine", WORKER)],
            ],
            "r2",
            "r1",
        ),
        (
            "workers fill the second of three, and fewer the third",
            &[
                &[("mine", CONTROL_PLANE)],
                &[("mine", WORKER), ("mine", WORKER)],
                &[("mine", WORKER)],
            ],
            "r3",
            "r1",
        ),
        (
            "the third control plane, beside workers",
            &[
                &[("mine", CONTROL_PLANE)],
                &[("mine", CONTROL_PLANE)],
                &[("mine", WORKER), ("mine", WORKER), ("mine", WORKER)],
            ],
            "r3",
            "r1 r2",
        ),
        (
            "the first worker goes where no control plane is",
            &[&[("mine", CONTROL_PLANE)], &[]],
            "r2",
            "r2",
        ),
        (
            "the second worker goes where no worker is",
            &[
                &[("mine", CONTROL_PLANE), ("mine", CONTROL_PLANE)],
                &[("mine", WORKER)],
            ],
            "r2",
            "r1",
        ),
        (
            "one that is gone may have been a control plane, or a worker",
            &[&[("mine", UNKNOWN)], &[("mine", WORKER)]],
            "r2",
            "r1 r2",
        ),
        (
            "the same, of a control plane",
            &[&[("mine", UNKNOWN)], &[("mine", CONTROL_PLANE)]],
            "r1 r2",
            "r2",
        ),
        (
            "other clusters do not count",
            &[
                &[("mine", CONTROL_PLANE), ("mine", WORKER)],
                &[
                    ("other", CONTROL_PLANE),
                    ("other", WORKER),
                    ("other", UNKNOWN),
                ],
            ],
            "r2",
            "r2",
        ),
    ];
    for (case, racks, control_plane, worker) in cases {
        for (is_control_plane, expected) in [(true, control_plane), (false, worker)] {
            let chosen: BTreeSet<String> = (0..20)
                .map(|uid| rack(racks, is_control_plane, &format!("uid-{uid}")))
                .collect();
            let chosen = chosen.into_iter().collect::<Vec<_>>().join(" ");
            assert_eq!(
                chosen, expected,
                "{case}; control plane: {is_control_plane}"
            );
        }
    }
}
