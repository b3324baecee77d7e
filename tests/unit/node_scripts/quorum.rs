//! What etcd says just before a new kubelet restarts its member.

use super::stage::Stage;
use super::*;

/// Asks on a host of a cluster of as many members, of which these others answer; its own is the first.
fn asks(members: usize, own: bool, healthy: &[usize]) -> (bool, String) {
    let stage = Stage::new();
    let root = stage.root();
    let manifest = "    - --advertise-client-urls=https://10.0.0.1:2379\n";
    stage.write("etc/kubernetes/manifests/etcd.yaml", manifest);
    let list: Vec<String> = (1..=members)
        .map(|n| format!(r#"{{"ID":"{n}","clientURLs":["https://10.0.0.{n}:2379"]}}"#))
        .collect();
    let answers: Vec<String> = healthy
        .iter()
        .map(|n| format!("https://10.0.0.{n}:2379/health) echo '{{\"health\":\"true\"}}' ;;\n"))
        .collect();
    let answers = answers.concat();
    stage.program(
        "curl",
        &format!(
            "for each in \"$@\"; do case $each in
https://127.0.0.1:2379/v3/cluster/member/list) {own} || exit 7; echo '{{\"members\":[{}]}}' ;;
{answers}https://*) exit 7 ;;
esac; done",
            list.join(",")
        ),
    );
    let settings = settings(SoftwareSource::Packages, false);
    let unit = on_host(Role::ControlPlane, &settings, false, |input| {
        Ok(kubelet(input, ""))
    });
    let step = unit.steps.iter().find(|step| step.name == "kubelet");
    let (functions, rest) = step
        .unwrap()
        .script
        .split_once("\n# also when this attempt breaks off")
        .unwrap();
    // it is asked after the programs are installed, and before the kubelet is started anew
    let place = |what: &str| rest.find(what).unwrap();
    assert!(place("install_programs") < place("others_keep_quorum"));
    assert!(place("others_keep_quorum") < place("systemctl restart kubelet"));
    let script = format!("{functions}\nothers_keep_quorum")
        .replace("/etc/kubernetes/", &format!("{root}/etc/kubernetes/"));
    let output = stage.run(&script);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), errors)
}

#[test]
fn a_new_kubelet_does_not_restart_the_member_that_etcd_needs() {
    let goes_on: [(usize, bool, &[usize]); 5] = [
        (1, true, &[]),
        (2, true, &[2]),
        (3, true, &[2, 3]),
        (5, true, &[2, 3, 4]),
        // it is down already
        (3, false, &[2]),
    ];
    for (members, own, healthy) in goes_on {
        let (ended, errors) = asks(members, own, healthy);
        assert!(ended, "{members} {healthy:?}: {errors}");
    }
    let fails: [(usize, &[usize]); 3] = [(2, &[]), (3, &[3]), (5, &[2, 3])];
    for (members, healthy) in fails {
        let (ended, errors) = asks(members, true, healthy);
        assert!(!ended, "{members} {healthy:?}");
        assert!(errors.contains("etcd would have no quorum"), "{errors}");
    }
}
