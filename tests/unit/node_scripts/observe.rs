//! What a host says of the pods that run on it.

use super::stage::Stage;
use super::*;

/// What a host says on which these processes run, each with these arguments.
fn observed(processes: &[&[&str]]) -> serde_json::Value {
    let stage = Stage::new();
    let root = stage.root();
    for (number, arguments) in (100..).zip(processes) {
        let path = format!("proc/{number}/cmdline");
        stage.write(&path, &(arguments.join("\0") + "\0"));
    }
    stage.program("systemctl", "[[ $1 != --version ]] || echo systemd 252");
    stage.program("ip", "");
    let script = observe(None).unwrap();
    let script = script.as_str().replace("/var/lib/tatara", root);
    let script = script.replace("/proc/[", &format!("{root}/proc/["));
    let output = stage.run(&script.replace("/etc/kubernetes", &format!("{root}/kubernetes")));
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

#[test]
fn pods_run_while_a_shim_of_kubernetes_does() {
    let shim = |namespace| {
        let program = "/usr/bin/containerd-shim-runc-v2";
        [program, "-namespace", namespace, "-id", "4f2c", "-address"]
    };
    let table: [(&str, &[&[&str]], bool); 5] = [
        ("nothing", &[], false),
        ("a pod", &[&["/sbin/init"], &shim("k8s.io")], true),
        ("a container of Docker's", &[&shim("moby")], false),
        ("both", &[&shim("moby"), &shim("k8s.io")], true),
        (
            "containerd, and who looks at it",
            &[
                &["/usr/bin/containerd"],
                &["ctr", "-n", "k8s.io", "c", "ls"],
            ],
            false,
        ),
    ];
    for (case, processes, expected) in table {
        assert_eq!(observed(processes)["podsRun"], expected, "{case}");
    }
}
