//! The scripts as they reach a host, read by the shell's own parser and by shellcheck.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::Command;

use tatara::api::machine_provider_spec::{NodeFile, NodeSettings, Proxy, Software, SoftwareSource};
use tatara::kubeadm::KubernetesVersion;
use tatara::node::{
    Bootstrap, Marker, Prepare, Reset, Role, Unit, UnitName, VirtualIpInput, follow, follow_log,
    init, join, log, observe, prepare, reset, start_and_follow, take_host,
};

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
    let version: KubernetesVersion = "1.36.3".parse().unwrap();
    prepare(&Prepare {
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
    })
    .unwrap()
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
        init(bootstrap(&[])).unwrap(),
        join(bootstrap(&peers)).unwrap(),
        reset(&Reset { pod_cidrs: &[] }).unwrap(),
    ];
    for source in [
        SoftwareSource::Preinstalled,
        SoftwareSource::Packages,
        SoftwareSource::Mirror,
    ] {
        for full in [false, true] {
            let settings = settings(source, full);
            units.push(prepared(Role::ControlPlane, &settings, full));
        }
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
            let name = format!("{number}-{}-{}.sh", unit.name.as_str(), step.name);
            write(&name, &step.script);
        }
    }
    let start = start_and_follow(&marker, &units()[0], tatara::clock::now()).unwrap();
    write("start.sh", start.as_str());
    write("take.sh", take_host(&marker).unwrap().as_str());
    write(
        "follow.sh",
        follow(&marker, UnitName::Init).unwrap().as_str(),
    );
    write("observe.sh", observe().unwrap().as_str());
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

/// The functions of the reset's step `node`, which looks into `root` instead of the host's own folders, and what to do with
/// them, in a namespace of its own for mounts.
fn with_cleanup(root: &Path, what: &str) -> std::process::Output {
    let unit = reset(&Reset { pod_cidrs: &[] }).unwrap();
    let step = unit.steps.iter().find(|step| step.name == "node").unwrap();
    let (functions, rest) = step.script.rsplit_once("\nclean_up\n").unwrap();
    assert_eq!(rest, "");
    let mut script = functions.to_owned();
    for folder in ["/etc/", "/run/", "/var/"] {
        script = script.replace(folder, &format!("@ROOT@{folder}"));
    }
    script = script.replace("@ROOT@", root.to_str().unwrap());
    let script = format!("{script}\nset -x\n{what}\n");
    let mut command = Command::new("unshare");
    command
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "bash",
            "-c",
            &script,
        ])
        .env("TATARA_UNIT", root.join("unit/reset"))
        .env("ROOT", root);
    command.output().unwrap()
}

fn text(output: &std::process::Output) -> (String, String) {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (lossy(&output.stdout), lossy(&output.stderr))
}

/// A folder of the same file system is one to `find -xdev` as well.
#[test]
fn nothing_is_removed_around_a_mount_that_somebody_holds() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let mounted = "mkdir -p $ROOT/tree/a/{same,other} $ROOT/data; echo precious >$ROOT/data/file; echo own >$ROOT/tree/own
        mount --bind $ROOT/data $ROOT/tree/a/same; mount -t tmpfs tmpfs $ROOT/tree/a/other
        echo lost >$ROOT/tree/a/other/file";
    let held = format!(
        "{mounted}\nsleep() {{ :; }}\nexec 5<$ROOT/tree/a/same/file\nremove_tree $ROOT/tree"
    );
    let output = with_cleanup(&root, &held);
    let (stdout, stderr) = text(&output);
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    let mount = root.join("tree/a/same");
    let says = format!(
        "finding: mounted: {} cannot be unmounted; it is held by: bash (",
        mount.display()
    );
    assert!(stdout.starts_with(&says), "{stdout}{stderr}");
    let kept = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    assert_eq!(
        (kept("data/file"), kept("tree/own")),
        ("precious\n".into(), "own\n".into())
    );

    let output = with_cleanup(&root, &format!("{mounted}\nremove_tree $ROOT/tree"));
    assert!(output.status.success(), "{:?}", text(&output));
    assert_eq!(kept("data/file"), "precious\n");
    assert!(!root.join("tree").exists());
}

#[test]
fn a_folder_that_is_a_link_or_a_file_system_of_its_own_is_emptied_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let made = "mkdir -p $ROOT/disk/x $ROOT/tmpfs; ln -s $ROOT/disk $ROOT/link; mount -t tmpfs tmpfs $ROOT/tmpfs; mkdir $ROOT/tmpfs/x
        remove_tree $ROOT/link; remove_tree $ROOT/tmpfs; remove_tree $ROOT/missing
        ls -A $ROOT/disk $ROOT/tmpfs; mountpoint -q $ROOT/tmpfs";
    let output = with_cleanup(&root, made);
    let (stdout, stderr) = text(&output);
    assert!(output.status.success(), "{stderr}");
    assert!(!stdout.contains('x'), "{stdout}");
    assert!(root.join("link").is_symlink() && root.join("disk").is_dir());
}

/// As kubeadm writes etcd's manifest.
const ETCD: &str = "spec:
  containers:
  - livenessProbe:
      httpGet:
        path: /readyz
    name: etcd
    volumeMounts:
    - mountPath: /srv/etcd
      name: etcd-data
  volumes:
  - hostPath:
      path: /etc/kubernetes/pki/etcd
      type: DirectoryOrCreate
    name: etcd-certs
  - hostPath:
      path: @ROOT@/srv/etcd
      type: DirectoryOrCreate
    name: etcd-data
";

#[test]
fn what_is_elsewhere_is_noted_with_proof_that_it_is_kubernetes_and_never_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.replace("@ROOT@", root.to_str().unwrap())).unwrap();
    };
    write("etc/kubernetes/manifests/etcd.yaml", ETCD);
    write("srv/etcd/member/data", "");
    write(
        "var/lib/kubelet/kubeadm-flags.env",
        "KUBELET_KUBEADM_ARGS=\"--root-dir=@ROOT@/srv/kubelet --cert-dir @ROOT@/srv/certs --v=2\"\n",
    );
    write(
        "var/lib/kubelet/config.yaml",
        "kind: KubeletConfiguration\npodLogsDir: @ROOT@/srv/logs\n",
    );
    // neither a comment nor a folder that no kubelet has used
    write(
        "etc/default/kubelet",
        "# --root-dir=@ROOT@/srv/old\nKUBELET_EXTRA_ARGS=--root-dir=@ROOT@/srv/unused\n",
    );
    write("srv/old/plugins_registry/x", "");
    write("srv/unused/plugins/mine", "");
    write("srv/kubelet/plugins_registry/x", "");
    write("srv/kubelet/pods/x/volumes/secret", "");
    write("srv/kubelet/cpu_manager_state", "");
    write("srv/kubelet/site.txt", "mine");
    write("srv/certs/kubelet-client-current.pem", "");
    write("srv/certs/site.pem", "mine");
    write("srv/logs/app_log_x", "mine");
    let pods = [
        "kube-system_etcd-a_0123456789abcdef0123456789abcdef",
        "default_web-0_0b1c2d3e-0000-4000-8000-000000000001",
    ];
    for pod in pods {
        write(&format!("srv/logs/{pod}/0.log"), "");
    }
    std::fs::create_dir_all(root.join("unit")).unwrap();

    let noted =
        "note_moved; rm -r $ROOT/etc/kubernetes $ROOT/var/lib/kubelet; note_moved; cat $MOVED";
    let output = with_cleanup(&root, noted);
    let (stdout, stderr) = text(&output);
    assert!(output.status.success(), "{stderr}");
    let noted: Vec<_> = stdout
        .lines()
        .map(|line| line.replace(root.to_str().unwrap(), ""))
        .collect();
    assert_eq!(
        noted,
        [
            "certificates /srv/certs",
            "etcd /srv/etcd",
            "kubelet /srv/kubelet",
            "logs /srv/logs"
        ]
    );

    let output = with_cleanup(
        &root,
        "systemctl() { :; }; moved_remains | wc -l; remove_files; moved_remains",
    );
    let (stdout, stderr) = text(&output);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(stdout, "7\n", "{stderr}");
    let left = Command::new("find")
        .args(["srv", "-type", "f"])
        .current_dir(&root)
        .output()
        .unwrap();
    let mut left: Vec<_> = text(&left).0.lines().map(str::to_owned).collect();
    left.sort();
    assert_eq!(
        left,
        [
            "srv/certs/site.pem",
            "srv/kubelet/site.txt",
            "srv/logs/app_log_x",
            "srv/old/plugins_registry/x",
            "srv/unused/plugins/mine"
        ]
    );
}
