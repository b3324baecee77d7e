//! What the reset removes, and what it leaves.

use super::*;

/// The functions of the reset's step `node`, which looks into `root` instead of the host's own folders, and what to do with
/// them, in a namespace of its own for mounts.
fn with_cleanup(root: &Path, what: &str) -> std::process::Output {
    let unit = reset(&Reset { pod_cidrs: &[] }).render().unwrap();
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
        "finding: mounted: {} cannot be unmounted; it is in use by: bash (",
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
    // the folder of the test may have this letter in its name
    assert!(stdout.lines().all(|line| line != "x"), "{stdout}");
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
