use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use minijinja::context;
use serde_json::{Map, json};

use super::*;
use crate::api::machine_provider_spec::{NodeFile, NodeSettings, Proxy, Software, SoftwareSource};
use crate::core::kubeadm::KubernetesVersion;
use crate::core::node::ControlPlaneFile;

fn version(text: &str) -> KubernetesVersion {
    text.parse().unwrap()
}

fn marker() -> Marker {
    Marker {
        management: "0d7a2f0e".into(),
        namespace: "default".into(),
        cluster: "c1".into(),
        machine: "c1-cp".into(),
        uid: "5e2b7a64".into(),
    }
}

fn prepared(role: Role, settings: &NodeSettings, kubelet: serde_json::Value) -> Unit {
    let serde_json::Value::Object(kubelet) = kubelet else {
        panic!("not an object: {kubelet}");
    };
    on_host(role, settings, |input| {
        prepare(&Prepare {
            kubelet_configuration: &kubelet,
            ..input.clone()
        })
    })
    .unwrap()
}

/// A unit of a host that has these settings.
pub(super) fn on_host(
    role: Role,
    settings: &NodeSettings,
    make: impl FnOnce(&Prepare<'_>) -> Result<Unit, UnitError>,
) -> Result<Unit, UnitError> {
    make(&Prepare {
        role,
        node_name: "node-1",
        kubelet_version: &version("1.35.4"),
        control_plane_version: &version("1.36.3"),
        settings,
        kubelet_configuration: &Map::new(),
        image_repository: None,
        pod_cidrs: &["10.244.0.0/16".into()],
        service_cidrs: &["10.96.0.0/16".into(), "fd00:10:96::/112".into()],
        no_proxy: &["10.96.0.0/16".into(), "cluster.local".into()],
        api_port: 6443,
        ipv6: false,
    })
}

pub(super) fn everything() -> NodeSettings {
    NodeSettings {
        software: Software {
            source: SoftwareSource::Mirror,
            mirror: Some("http://mirror.example/kubernetes/".into()),
            image_archives: vec![format!(
                "http://mirror.example/images.tar#sha256={}",
                "AB".repeat(32)
            )],
        },
        proxy: Some(Proxy {
            http_proxy: Some("http://user:p\"a's$s@proxy:3128".into()),
            https_proxy: None,
            no_proxy: vec!["intra.example".into()],
        }),
        registry_mirrors: BTreeMap::from([(
            "docker.io".into(),
            vec!["https://a.example".into(), "https://b.example".into()],
        )]),
        files: vec![NodeFile {
            path: "/etc/it's here".into(),
            mode: "0640".into(),
            content: "{{ not a template }}\n$(not a command)\n".into(),
        }],
        pre_kubeadm_commands: vec!["echo \"it's\" && true".into()],
        post_kubeadm_commands: Vec::new(),
    }
}

fn key_file(name: &str, text: &str) -> ControlPlaneFile {
    ControlPlaneFile {
        path: format!("/etc/kubernetes/pki/{name}"),
        mode: 0o600,
        content: text.to_owned().into(),
    }
}

pub(super) fn text(unit: &Unit) -> String {
    let steps = unit.steps.iter();
    let texts =
        steps.map(|step| [step.name, ": ", step.title, "\n", &own(&step.script), "\n"].concat());
    texts.collect()
}

/// A script without the parts that are the same in every script.
fn own(script: &str) -> String {
    render::TEMPLATES
        .iter()
        .filter(|(name, source)| name.starts_with("lib/") && !source.contains("{{"))
        .fold(script.to_owned(), |text, (name, source)| {
            text.replace(source, &format!("[{name}]\n"))
        })
}

#[test]
fn every_value_in_a_template_passes_the_quoting_filter() {
    for (name, source) in render::TEMPLATES {
        for value in source.split("{{").skip(1) {
            let value = value.split("}}").next().unwrap();
            assert!(value.ends_with(" | sh "), "{name}: {{{{{value}}}}}");
        }
    }
}

#[test]
fn every_template_file_is_known_to_the_renderer() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("templates/node");
    let mut files = Vec::new();
    for folder in ["", "lib", "steps"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
                files.push(name.strip_suffix(".j2").unwrap().to_owned());
            }
        }
    }
    files.sort();
    let mut known: Vec<_> = render::TEMPLATES.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(files, known);
}

#[test]
fn values_are_quoted_for_the_shell() {
    let quoted = |value: minijinja::Value| render::shell_words(&value).unwrap();
    assert_eq!(quoted("it's $(x)\n`y`".into()), "'it'\\''s $(x)\n`y`'");
    assert_eq!(quoted("".into()), "''");
    assert_eq!(quoted(51.into()), "51");
    assert_eq!(quoted(true.into()), "true");
    assert_eq!(quoted(false.into()), "false");
    assert_eq!(quoted(vec!["a b", "c"].into()), "'a b' 'c'");
    assert_eq!(quoted(Vec::<String>::new().into()), "");
    assert!(render::shell_words(&"a\0b".into()).is_err());
    assert!(render::shell_words(&context! { a => 1 }).is_err());
}

#[test]
fn a_missing_value_is_an_error_and_not_an_empty_word() {
    let error = render::script("log.sh", context! { uid => "u" }).unwrap_err();
    assert_eq!(error.to_string(), "failed to render log.sh");
}

#[test]
fn a_script_does_not_show_what_is_in_it() {
    let mut unit = prepared(Role::Worker, &NodeSettings::default(), json!({}));
    unit.secrets.push(SecretFile {
        name: "kubeadm.yaml".into(),
        content: "canary".to_owned().into(),
    });
    let script = start_and_follow(&marker(), &unit, Timestamp::UNIX_EPOCH).unwrap();
    assert!(!script.as_str().contains("canary"), "secrets are encoded");
    assert!(script.as_str().contains("Y2FuYXJ5"));
    assert!(!format!("{script:?}{unit:?}").contains("anary"));
}

#[test]
fn the_identity_is_that_of_the_steps_without_secrets_tokens_and_times() {
    let bootstrap = |token: &str| Bootstrap {
        kubeadm: format!("token: {token}").into(),
        pki: vec![key_file("ca.key", token)],
        virtual_ip: None,
        pod_cidrs: &[],
        post_kubeadm_commands: &[],
    };
    let one = join(bootstrap("one")).unwrap();
    assert_eq!(one.identity(), join(bootstrap("two")).unwrap().identity());
    assert_eq!(one.identity().len(), 64);
    assert_ne!(one.identity(), init(bootstrap("one")).unwrap().identity());
    let early = start_and_follow(&marker(), &one, Timestamp::UNIX_EPOCH).unwrap();
    assert!(early.as_str().contains(&one.identity()));
    let mut other = one.clone();
    other.steps[0].script.push_str("# changed\n");
    assert_ne!(other.identity(), one.identity());
}

#[test]
fn a_worker_with_preinstalled_software() {
    let unit = prepared(Role::Worker, &NodeSettings::default(), json!({}));
    insta::assert_snapshot!(text(&unit));
}

#[test]
fn a_control_plane_with_everything_from_a_mirror() {
    let kubelet = json!({"cgroupDriver": "cgroupfs", "failSwapOn": false, "failCgroupV1": false});
    insta::assert_snapshot!(text(&prepared(Role::ControlPlane, &everything(), kubelet)));
}

#[test]
fn software_from_packages() {
    let mut settings = NodeSettings::default();
    settings.software.source = SoftwareSource::Packages;
    let unit = prepared(Role::Worker, &settings, json!({}));
    let kube = unit.steps.iter().find(|step| step.name == "kube").unwrap();
    insta::assert_snapshot!(own(&kube.script));
}

#[test]
fn a_first_control_plane_with_a_virtual_ip() {
    let unit = init(Bootstrap {
        kubeadm: "kind: InitConfiguration".to_owned().into(),
        pki: vec![key_file("etcd/ca.key", "key")],
        virtual_ip: Some(VirtualIpInput {
            address: "10.77.0.100",
            own_address: "10.77.0.11",
            peers: &[],
            api_port: 6443,
            interface: None,
            router_id: None,
        }),
        pod_cidrs: &["10.244.0.0/16".into()],
        post_kubeadm_commands: &["echo done".into()],
    })
    .unwrap();
    let names: Vec<_> = unit.secrets.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        ["kubeadm.yaml", "root/etc/kubernetes/pki/etcd/ca.key"]
    );
    insta::assert_snapshot!(text(&unit));
}

#[test]
fn a_reset() {
    let unit = reset(&Reset {
        pod_cidrs: &["10.244.0.0/16".into()],
    })
    .unwrap();
    insta::assert_snapshot!(text(&unit));
}

#[test]
fn an_image_archive_needs_its_checksum() {
    let mut settings = everything();
    settings
        .software
        .image_archives
        .push("http://x/y.tar".into());
    let error = on_host(Role::Worker, &settings, prepare).unwrap_err();
    assert_eq!(
        error.to_string(),
        "providerSpec.value.node.software.imageArchives[1] is \"http://x/y.tar\"; it needs its checksum at the end: #sha256=<64 hexadecimal digits>"
    );
}

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

/// What an older manager started is found, followed and logged by the same names.
#[test]
fn the_names_of_jobs_on_hosts_stay() {
    let names = JobKind::ALL.map(JobKind::as_str);
    assert_eq!(
        names,
        [
            "prepare", "init", "join", "address", "images", "upgrade", "kubelet", "addons", "reset"
        ]
    );
    for kind in JobKind::ALL {
        let (job, name) = (marker().job(kind), kind.as_str());
        let follow = follow(&job).unwrap();
        let dir = format!("local dir=$MACHINES/'{}'/'{name}'", marker().uid);
        assert!(follow.as_str().contains(&dir), "{dir}");
        let unit = Unit {
            kind,
            steps: Vec::new(),
            secrets: Vec::new(),
        };
        let start = start_and_follow(&marker(), &unit, Timestamp::UNIX_EPOCH).unwrap();
        let variable = format!("\nunit='{name}' identity=");
        assert!(start.as_str().contains(&variable), "{variable}");
        let printed =
            json!({"machine": job.key, "unit": name, "identity": "ab", "state": "succeeded"});
        let status: UnitStatus = serde_json::from_value(printed).unwrap();
        assert_eq!(status.job, job);
    }
}
