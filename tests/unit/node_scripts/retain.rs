//! A host that is kept: its pods end, and its data stays.

use super::*;

/// Runs the script that keeps a host, whose `ctr` knows these tasks, and returns what was called.
fn retained(tasks: &str, ends: bool) -> (Option<i32>, String) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_str().unwrap();
    std::fs::create_dir_all(folder.path().join("bin")).unwrap();
    std::fs::write(folder.path().join("tasks"), tasks).unwrap();
    std::fs::create_dir_all(folder.path().join("proc/7")).unwrap();
    let shim = "/usr/bin/containerd-shim-runc-v2\0-namespace\0k8s.io\0-id\0a\0";
    std::fs::write(folder.path().join("proc/7/cmdline"), shim).unwrap();
    let ctr = format!(
        "echo \"ctr $*\" >>{root}/calls
[[ $* == '--namespace k8s.io tasks ls --quiet' ]] && cat {root}/tasks
[[ $* != *'tasks delete'* ]] || {ends} || exit 1
[[ $* != *'tasks delete'* ]] || rm -f {root}/proc/7/cmdline"
    );
    let systemctl = format!("echo \"systemctl $*\" >>{root}/calls");
    for (name, text) in [("ctr", ctr), ("systemctl", systemctl)] {
        let path = folder.path().join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let marker = Marker {
        management: "m".into(),
        uid: "u".into(),
        ..Marker::default()
    };
    let script = tatara::core::node::retain(&marker).unwrap();
    let script = script
        .as_str()
        .replace("/proc/", &format!("{root}/proc/"))
        .replace("for try in {1..40}", "for try in 1")
        .replace("owner_is_ours ||", "true ||")
        .replace("-S $SOCKET", "-n $SOCKET");
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .args(["-c", &script])
        .env("PATH", format!("{root}/bin:{path}"))
        .output()
        .unwrap();
    let calls = std::fs::read_to_string(folder.path().join("calls")).unwrap_or_default();
    (output.status.code(), calls)
}

#[test]
fn a_host_that_is_kept_ends_its_pods_after_its_kubelet_and_removes_nothing() {
    let (ended, calls) = retained("a\nb\n", true);
    assert_eq!(ended, Some(0), "{calls}");
    assert!(
        calls.starts_with("systemctl disable --now kubelet\n"),
        "{calls}"
    );
    for id in ["a", "b"] {
        assert!(calls.contains(&format!("tasks delete --force {id}\n")));
    }
    assert!(!calls.contains("containers delete"), "{calls}");
    assert!(!calls.contains("images"), "{calls}");
}

#[test]
fn a_pod_that_does_not_end_is_no_success() {
    let (ended, calls) = retained("a\n", false);
    assert_eq!(ended, Some(1), "{calls}");
}
