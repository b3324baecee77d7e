//! A host that is kept: its pods end, and its data stays.

use super::stage::Stage;
use super::*;

/// Runs the script that keeps a host, whose `ctr` knows these tasks, and returns what was called.
fn retained(tasks: &str, ends: bool) -> (Option<i32>, String) {
    let stage = Stage::new();
    let root = stage.root();
    stage.write("tasks", tasks);
    let shim = "/usr/bin/containerd-shim-runc-v2\0-namespace\0k8s.io\0-id\0a\0";
    stage.write("proc/7/cmdline", shim);
    stage.program(
        "ctr",
        &format!(
            "echo \"ctr $*\" >>{root}/calls
[[ $* == '--namespace k8s.io tasks ls --quiet' ]] && cat {root}/tasks
[[ $* != *'tasks delete'* ]] || {ends} || exit 1
[[ $* != *'tasks delete'* ]] || rm -f {root}/proc/7/cmdline"
        ),
    );
    stage.program(
        "systemctl",
        &format!("echo \"systemctl $*\" >>{root}/calls"),
    );
    let marker = Marker {
        management: "m".into(),
        uid: "u".into(),
        ..Marker::default()
    };
    let script = tatara_core::node::retain(&marker).unwrap();
    let script = script
        .as_str()
        .replace("/proc/", &format!("{root}/proc/"))
        .replace("for try in {1..40}", "for try in 1")
        .replace("owner_is_ours ||", "true ||")
        .replace("-S $SOCKET", "-n $SOCKET");
    let output = stage.run(&script);
    (output.status.code(), stage.read("calls"))
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
