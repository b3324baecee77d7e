//! What hosts answer, as it is read.

use super::*;

#[test]
fn a_finding_is_read_back_from_its_line() {
    let line = "finding: swap: swap is on: /dev/sda2; remedy: swapoff -a; or failSwapOn: false";
    let finding = Finding::from(line.to_owned());
    assert_eq!(finding.code, "swap");
    assert_eq!(finding.value, "swap is on: /dev/sda2");
    assert_eq!(finding.remedy, "swapoff -a; or failSwapOn: false");
    assert_eq!(String::from(finding.clone()), line);
    assert_eq!(
        finding.to_string(),
        "swap is on: /dev/sda2 (swapoff -a; or failSwapOn: false)"
    );
}

#[test]
fn events_are_read_from_lines() {
    let progress = parse_event(r#"{"progress":{"step":"kube","index":4,"total":9}}"#).unwrap();
    let at = Progress {
        step: "kube".into(),
        index: 4,
        total: 9,
    };
    assert_eq!(progress, Event::Progress(at.clone()));
    let ended = r#"{"ended":{"machine":"u","unit":"init","identity":"ab","state":"failed","step":"kube","index":4,"total":9,"exitCode":3,"findings":["finding: a: b; remedy: c"],"output":"x\n"}}"#;
    let Event::Ended(status) = parse_event(ended).unwrap() else {
        panic!("not an end");
    };
    assert_eq!(status.job, Job::new(JobKind::Init, "u"));
    assert_eq!(
        status.state,
        UnitState::Failed(Failure {
            attempt: 0,
            since: None,
            causes: Vec::new(),
            at,
            exit_code: 3,
            findings: vec![Finding::from("finding: a: b; remedy: c".to_owned())],
            output: "x\n".into(),
        })
    );
    assert_eq!(parse_event(r#"{"absent":{}}"#).unwrap(), Event::Absent);
    let refused = parse_event(r#"{"refused":{"owner":null}}"#).unwrap();
    assert_eq!(refused, Event::Refused(Ownership::Nobody));
    assert!(parse_event(r#"{"taken":{}}"#).is_err());
    let error = parse_event("bash: flock: command not found").unwrap_err();
    assert!(error.to_string().contains("flock: command not found"));
}

#[test]
fn an_unreadable_marker_is_nobody_s_but_never_free() {
    let answer = parse_take(br#"{"owned":{"owner":"{\"management\": tru"}}"#).unwrap();
    let Take::OwnedBy(owner) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(owner, Ownership::Unreadable("{\"management\": tru".into()));
    assert_eq!(owner.of(&marker()), None);
}

#[test]
fn the_facts_of_a_host_have_an_end() {
    let long = "ä".repeat(100_000);
    let many = |n: usize| (0..n).map(|i| (format!("{i}{long}"), json!(long)));
    let printed = json!({
        "clock": 1, "owner": null, "occupied": [], "kubeletActive": false, "podsRun": false, "units": [],
        "facts": {"hostname": long, "os": long, "architecture": long, "kernel": long, "cpus": 2, "memoryBytes": 3,
            "diskBytes": 5, "machineID": long, "addresses": vec![&long; 65], "defaultInterface": long, "systemd": 252,
            "cgroup": long, "extra": many(65).collect::<serde_json::Map<_, _>>()},
        "versions": {"kubelet": long, "kubeadm": long, "containerd": long},
    });
    let seen = parse_observation(printed.to_string().as_bytes()).expect("an observation");
    let versions = [
        seen.versions.kubelet,
        seen.versions.kubeadm,
        seen.versions.containerd,
    ];
    let told: usize = versions
        .iter()
        .flatten()
        .map(|text| text.chars().count())
        .sum();
    assert_eq!(told, 3 * 256);
    let facts = serde_json::to_string(&seen.facts).expect("JSON");
    assert!(
        facts.chars().count() < 256 * (7 + 64 + 2 * 64) + 2_000,
        "{}",
        facts.len()
    );
    assert_eq!(
        (seen.facts.addresses.len(), seen.facts.extra.len()),
        (64, 64)
    );
}

#[test]
fn an_observation_is_read_with_facts_marker_units_and_versions() {
    let owner = json!({"management":"0d7a2f0e","namespace":"default","cluster":"c1","machine":"c1-cp","uid":"5e2b7a64","initialized":true});
    let printed = json!({
        "clock": 1_795_000_000_123_i64,
        "owner": owner.to_string(),
        "occupied": ["finding: occupied: /var/lib/etcd/member exists; remedy: run kubeadm reset"],
        "facts": {"hostname":"a","os":"debian 12","architecture":"amd64","kernel":"6.1","cpus":2,"memoryBytes":2_000_000_000_i64,
            "diskBytes":5,"machineID":"ab","addresses":["10.0.0.1"],"systemd":252,"cgroup":"v2"},
        "versions": {"kubelet":"v1.36.3","kubeadm":null,"containerd":"1.7.24"},
        "kubeletActive": true,
        "podsRun": true,
        "authority": "sha256:ab12",
        "units": [{"machine":"5e2b7a64","unit":"prepare","identity":"ab","state":"succeeded"},
            {"machine":"5e2b7a64","unit":"init","identity":"cd","state":"interrupted","step":"init","index":2,"total":2}],
    });
    let mut bytes = printed.to_string().into_bytes();
    bytes.push(b'\n');
    let observed = parse_observation(&bytes).unwrap();
    assert_eq!(observed.clock, 1_795_000_000_123);
    assert!(observed.owner.of(&marker()).unwrap().initialized);
    assert_eq!(observed.occupied[0].code, "occupied");
    assert_eq!(observed.facts.default_interface, None);
    assert_eq!(observed.versions.kubeadm, None);
    assert!(observed.kubelet_active && observed.pods_run);
    assert_eq!(observed.authority.as_deref(), Some("sha256:ab12"));
    let unit = observed
        .job(&Job::new(JobKind::Prepare, "5e2b7a64"))
        .unwrap();
    assert_eq!(unit.state, UnitState::Succeeded);
    assert_eq!(observed.job(&Job::new(JobKind::Join, "5e2b7a64")), None);
    assert_eq!(observed.job(&Job::new(JobKind::Init, "another")), None);
}
