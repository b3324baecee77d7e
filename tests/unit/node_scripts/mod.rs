//! The scripts as they reach a host, read by the shell's own parser and by shellcheck.
// what fails here fails the test
#![allow(clippy::panic, clippy::unwrap_used)]

mod address;
mod cleanup;
mod failures;
mod images;
mod observe;
mod quorum;
mod retain;
mod stage;
mod start;
mod stop;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;

use serde_json::Map;
use tatara_core::api::machine_provider_spec::{
    NodeFile, NodeSettings, Proxy, Software, SoftwareSource,
};
use tatara_core::kubeadm::KubernetesVersion;
use tatara_core::node::{
    Bootstrap, JobKind, Leader, Marker, Prepare, Reset, Role, Unit, UnitError, UnitSpec,
    VirtualIpInput, addons, archives, follow, follow_log, give_address, init, join, kubelet, log,
    observe, prepare, reset, start_and_follow, stop, take_host, upgrade,
};

/// Of the leader from which the scripts come.
const EPOCH: i64 = 2;

fn settings(source: SoftwareSource, full: bool) -> NodeSettings {
    let mut settings = NodeSettings {
        software: Software {
            source,
            mirror: Some("http://mirror".into()),
            image_archives: Vec::new(),
        },
        ..NodeSettings::default()
    };
    if full {
        settings.software.image_archives = vec![format!("http://x/y#sha256={}", "0".repeat(64))];
        settings.proxy = Some(Proxy {
            http_proxy: Some("http://proxy".into()),
            https_proxy: Some("http://proxy".into()),
            no_proxy: Vec::new(),
        });
        let urls = vec!["https://a".into(), "https://b".into()];
        settings.registry_mirrors = BTreeMap::from([("docker.io".into(), urls)]);
        settings.files = vec![NodeFile {
            path: "/etc/x".into(),
            mode: "0644".into(),
            content: "x\n".into(),
        }];
        settings.pre_kubeadm_commands = vec!["true".into()];
    }
    settings
}

fn prepared(role: Role, settings: &NodeSettings, ipv6: bool) -> Unit {
    on_host(role, settings, ipv6, prepare)
}

fn on_host(
    role: Role,
    settings: &NodeSettings,
    ipv6: bool,
    make: impl FnOnce(&Prepare<'_>) -> Result<UnitSpec, UnitError>,
) -> Unit {
    let version: KubernetesVersion = "1.36.3".parse().unwrap();
    let spec = make(&Prepare {
        role,
        node_name: "node-1",
        kubelet_version: &version,
        control_plane_version: &version,
        settings,
        kubelet_configuration: &serde_json::Map::new(),
        image_repository: Some("registry.example"),
        pod_cidrs: &["10.244.0.0/16".into()],
        service_cidrs: &["10.96.0.0/16".into()],
        no_proxy: &[],
        api_port: 6443,
        ipv6,
    });
    spec.unwrap().render().unwrap()
}

fn bootstrap(peers: &[String]) -> Bootstrap<'_> {
    Bootstrap {
        kubeadm: "x".to_owned().into(),
        pki: Vec::new(),
        virtual_ip: Some(VirtualIpInput {
            address: "10.0.0.100",
            own_address: "10.0.0.1",
            peers,
            api_port: 6443,
            interface: None,
            router_id: Some(7),
        }),
        pod_cidrs: &[],
        post_kubeadm_commands: &[],
    }
}

fn units() -> Vec<Unit> {
    let peers = ["10.0.0.2".to_owned(), "10.0.0.3".to_owned()];
    let mut units = vec![
        init(bootstrap(&[])).render().unwrap(),
        join(bootstrap(&peers)).render().unwrap(),
        reset(&Reset { pod_cidrs: &[] }).render().unwrap(),
        give_address().render().unwrap(),
    ];
    for source in [
        SoftwareSource::Preinstalled,
        SoftwareSource::Packages,
        SoftwareSource::Mirror,
    ] {
        for full in [false, true] {
            let settings = settings(source, full);
            units.push(prepared(Role::ControlPlane, &settings, full));
            units.extend(updates(Role::ControlPlane, &settings));
            units.extend(updates(Role::Worker, &settings));
        }
    }
    units
}

/// All units that update a host, of versions and of settings. Whether it has packages of Debian or RPM, a script finds out there.
fn updates(role: Role, settings: &NodeSettings) -> Vec<Unit> {
    // of one field shellcheck believes that a command is meant
    let fields = ["maxPods", "podsPerCore"].map(|field| (field.to_owned(), 99.into()));
    let fields = [Map::new(), Map::from_iter(fields)];
    let mut units = Vec::new();
    let mut add = |make: &dyn Fn(&Prepare<'_>) -> Result<UnitSpec, UnitError>| {
        units.push(on_host(role, settings, false, make));
    };
    let followed = ["control-plane", "kubelet-config"];
    for phases in [&[][..], &followed[..1], &followed[1..], &followed] {
        let digest = if phases.is_empty() { "" } else { "ab-1" };
        for fields in &fields {
            add(&|input| Ok(upgrade(input, (digest, phases), fields, "x".to_owned())));
        }
    }
    for digest in ["", "ab-1"] {
        add(&|input| Ok(kubelet(input, digest)));
    }
    if !settings.software.image_archives.is_empty() {
        add(&|input| archives(input).map(|unit| unit.expect("archives")));
    }
    let both = ["coredns", "kube-proxy"];
    for names in [&[][..], &both[..1], &both[1..], &both] {
        add(&|input| Ok(addons(input, names, "x".to_owned())));
    }
    units
}

/// Every script that can be sent, and every step that it can carry, as files of a folder.
fn write_all(folder: &Path) {
    let marker = Marker {
        management: "m".into(),
        uid: "u".into(),
        ..Marker::default()
    };
    let write = |name: &str, text: &str| {
        let text = if text.starts_with("#!") {
            text.to_owned()
        } else {
            format!("#!/bin/bash\n{text}")
        };
        std::fs::write(folder.join(name), text).unwrap();
    };
    let mut seen = HashSet::new();
    for (number, unit) in units().iter().enumerate() {
        let steps = unit.steps.iter();
        for step in steps.filter(|step| seen.insert(step.script.clone())) {
            let name = format!("{number}-{}-{}.sh", unit.kind.as_str(), step.name);
            write(&name, &step.script);
        }
    }
    let start = start_and_follow(&marker, &units()[0], EPOCH, tatara::clock::now()).unwrap();
    write("start.sh", start.as_str());
    write("take.sh", take_host(&marker).unwrap().as_str());
    write("stop.sh", stop(&marker).unwrap().as_str());
    write(
        "follow.sh",
        follow(&marker.job(JobKind::Init)).unwrap().as_str(),
    );
    let retain = tatara_core::node::retain(&marker).unwrap();
    write("retain.sh", retain.as_str());
    let leader = Leader {
        management: "m",
        namespace: "n",
        epoch: EPOCH,
    };
    write("observe.sh", observe(Some(leader)).unwrap().as_str());
    write("log.sh", log("u", None).unwrap().as_str());
    write(
        "follow-log.sh",
        follow_log("u", Some("x")).unwrap().as_str(),
    );
}

fn check(command: &mut Command, folder: &Path) {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let output = command.args(files).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
}

#[test]
fn bash_can_parse_every_script() {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path());
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let output = Command::new("bash").arg("-n").arg(&path).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && errors.is_empty(), "{errors}");
    }
}

/// Like hack/lint, says so where shellcheck is not installed.
#[test]
fn shellcheck_where_it_is_installed_finds_no_warning_in_any_script() {
    if Command::new("shellcheck")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("shellcheck is not here: the scripts were not checked");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path());
    // SC2034, SC2317: a shared part defines more than each script uses
    // SC2154: assigned by another function; SC1091: /etc/os-release is the host's
    let mut command = Command::new("shellcheck");
    command.args([
        "--shell=bash",
        "--severity=warning",
        "--exclude=SC2034,SC2317,SC1091,SC2154",
    ]);
    check(&mut command, folder.path());
}

#[test]
fn a_command_that_reads_its_input_does_not_swallow_the_rest_of_its_own_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("said");
    let commands = [
        format!(
            "read -r line || echo \"nothing to read\" >{0}\ncat\necho \"the rest\" >>{0}",
            path.display()
        ),
        format!("echo \"the next\" >>{}; exit 3", path.display()),
    ];
    let mut settings = settings(SoftwareSource::Preinstalled, false);
    settings.pre_kubeadm_commands = commands.to_vec();
    let unit = prepared(Role::Worker, &settings, false);
    let step = unit.steps.iter().find(|step| step.name == "pre-kubeadm");
    let script = folder.path().join("step.sh");
    std::fs::write(&script, &step.unwrap().script).unwrap();
    let output = Command::new("bash").arg(&script).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "nothing to read\nthe rest\nthe next\n"
    );
    assert!(
        errors.contains("command 2 of preKubeadmCommands ended with exit code 3"),
        "{errors}"
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "command 1\ncommand 2\n"
    );
}
