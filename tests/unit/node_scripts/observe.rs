//! What a host says of the pods that run on it, and of its programs.

use super::stage::Stage;
use super::*;

/// What a host says on which these processes run, each with these arguments.
fn observed(processes: &[&[&str]]) -> serde_json::Value {
    let stage = Stage::new();
    for (number, arguments) in (100..).zip(processes) {
        let path = format!("proc/{number}/cmdline");
        stage.write(&path, &(arguments.join("\0") + "\0"));
    }
    look(&stage)
}

fn look(stage: &Stage) -> serde_json::Value {
    let root = stage.root();
    stage.program("systemctl", "[[ $1 != --version ]] || echo systemd 252");
    stage.program("ip", "");
    let leader = Leader {
        management: "m",
        namespace: "n",
        epoch: EPOCH,
    };
    let script = observe(Some(leader)).unwrap();
    let script = script.as_str().replace("/var/lib/tatara", root);
    let script = script.replace("/run/tatara", &format!("{root}/run/tatara"));
    let script = script.replace("/proc/[", &format!("{root}/proc/["));
    let output = stage.run(&script.replace("/etc/kubernetes", &format!("{root}/kubernetes")));
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {errors}"))
}

#[test]
fn what_a_program_said_of_its_version_is_remembered_until_it_is_another_file() {
    let stage = Stage::new();
    let version = || look(&stage)["versions"]["kubelet"].clone();
    let noted = || stage.read("run/tatara-versions/kubelet");
    let install = |program: &str| {
        let place = format!("{}/bin/kubelet", stage.root());
        std::fs::remove_file(&place).ok();
        std::fs::copy(program, place).unwrap();
    };
    // a program that says a version of three numbers
    stage.write("bin/kubelet", "");
    install("/bin/bash");
    let said = version();
    assert!(said.is_string(), "{said}");
    assert_eq!(noted(), "", "on a host of nobody");
    stage.write(
        "owner.json",
        r#"{"management": "m", "namespace": "another"}"#,
    );
    assert_eq!(version(), said);
    assert_eq!(noted(), "", "on another's host");
    stage.write("owner.json", r#"{"management": "m", "namespace": "n"}"#);
    assert_eq!(version(), said);
    let remembered = noted();
    assert!(remembered.ends_with(&format!("{}\n", said.as_str().unwrap())));

    stage.write(
        "run/tatara-versions/kubelet",
        &remembered.replace(said.as_str().unwrap(), "v1.2.3"),
    );
    assert_eq!(version(), "v1.2.3");
    install("/bin/bash");
    assert_eq!(version(), said, "of another file");
    stage.write("run/tatara-versions/kubelet", "");
    assert_eq!(version(), said, "where it was cut off");
    assert_eq!(version(), said);

    stage.program("kubelet", "echo Kubernetes v1.37.2");
    assert_eq!(version(), "v1.37.2");
    let before = noted();
    stage.program("kubelet", "echo Kubernetes v1.37.3");
    assert_eq!(version(), "v1.37.3", "a script");
    assert_eq!(noted(), before);
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
