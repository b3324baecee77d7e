//! Which Machine may be recorded.

use super::*;
use crate::cli::cluster::fixture::{GONE, host};

#[test]
fn a_record_is_written_where_nothing_shows_another_control_plane() {
    let two = || known().recorded(CP0, CP1);
    let lost = || known().recorded(CP0, "");
    expect(vec![
        ("on the Secret alone", lost(), made_by(CP0), Free),
        (
            "its host is off",
            lost().begun(CP0).silent(CP0),
            made_by(CP0),
            Free,
        ),
        (
            "it exists no more",
            known().recorded(GONE, ""),
            made_by(GONE),
            Free,
        ),
        (
            "with another CA",
            lost().begun(CP0).saying(CP0, OTHER_CA),
            made_by(CP0),
            Refused("with another CA"),
        ),
        (
            "the host of another has one",
            lost().marked(CP1),
            made_by(CP0),
            Shown(&["kubeadm init succeeded on the host of Machine cp-1"]),
        ),
        (
            "instead of the one on the Secret",
            lost().serving(CP1),
            made_by(CP1),
            Free,
        ),
        (
            "instead of the one on the Secret, which was begun",
            lost().begun(CP0).serving(CP1),
            made_by(CP1),
            Shown(&["Machine cp-0"]),
        ),
        (
            "two, one serves, the other exists no more",
            known().recorded(GONE, CP1).serving(CP1),
            made_by(CP1),
            Free,
        ),
        (
            "two, one exists no more, but its Host does",
            {
                let mut left = known().recorded(GONE, CP1).serving(CP1);
                left.hosts.push(host(GONE, true));
                left
            },
            made_by(CP1),
            Shown(&["The message of Host h-9"]),
        ),
        (
            "two, the one that exists no more",
            known().recorded(GONE, CP1).serving(CP1),
            made_by(GONE),
            Shown(&["Machine cp-1"]),
        ),
        (
            "two, nothing shows which",
            two(),
            made_by(CP0),
            Shown(&["it is recorded, and its Host h-1 has answered"]),
        ),
        (
            "the one whose host says so",
            two().begun(CP0).saying(CP1, MADE_TWICE),
            made_by(CP1),
            Shown(&["Machine cp-0"]),
        ),
        (
            "another may run kubeadm init",
            two_holders().serving(CP0).begun(CP1),
            made_by(CP0),
            Shown(&["Machine cp-1"]),
        ),
        (
            "anybody may run kubeadm init",
            known().turns("rubbish", "").serving(CP0).begun(CP1),
            made_by(CP0),
            Shown(&["Machine cp-1"]),
        ),
    ]);
}

#[test]
fn a_record_that_both_have_lost_is_written_of_one_that_runs() {
    let lost = || known().turns(&turn(CP1, "join"), "");
    expect(vec![
        ("it serves", lost().serving(CP0), made_by(CP0), Free),
        (
            "nothing shows that it succeeded",
            lost().begun(CP0),
            made_by(CP0),
            Shown(&["nothing shows that kubeadm succeeded there"]),
        ),
        (
            "nobody knows that UID",
            lost().serving(CP0),
            made_by(GONE),
            Shown(&["no Machine, Host, Cluster or Secret shows"]),
        ),
        (
            "its host shows it",
            lost().marked(CP0).deleted(CP0),
            made_by(CP0),
            Free,
        ),
        (
            "nothing records that kubeadm was started",
            known().begun(CP1),
            made_by(CP0),
            Shown(&["Machine cp-0 may have no control plane"]),
        ),
        (
            "a host shows it to the manager alone",
            known().saying(CP1, "Host h-9 has the key of this Cluster's CA"),
            made_by(GONE),
            Shown(&["no Machine, Host, Cluster or Secret shows"]),
        ),
        (
            "a worker",
            {
                let mut worker = lost().begun(CP0);
                worker.machine_mut(CP0).spec.versions = None;
                worker
            },
            made_by(CP0),
            Refused("is a worker"),
        ),
        (
            "of another Cluster",
            {
                let mut other = lost().begun(CP0);
                other.machine_mut(CP0).metadata.labels = None;
                other
            },
            made_by(CP0),
            Refused("does not name Cluster a"),
        ),
        (
            "with another CA",
            lost().begun(CP0).saying(CP0, OTHER_CA),
            made_by(CP0),
            Refused("with another CA"),
        ),
    ]);
}
