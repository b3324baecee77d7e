//! Hosts that are not fit, or do not get their software: a step of the preparation fails, and is tried again.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::case::Case;
use crate::score::Score;
use crate::stage::{SPARE, Stage, provider_spec};
use crate::support::versions::pinned;

const PLACES: &[&str] = &[
    "machine/spare-*",
    "machinedeployment/spare",
    "cluster/quickstart",
];

/// A Cluster whose control plane is to be on the further server.
const SECOND: &str = "second";
/// A kubelet that hosts do not have, so that it is downloaded.
const OTHER: &str = "v1.36.2";

pub async fn all(stage: &Stage, score: &mut Score) {
    for case in &CASES {
        score.run(stage, case).await;
    }
    let mirror = Mirror::serve(stage);
    for case in &OF_A_MIRROR {
        score.run(stage, case).await;
        stage.spare_class(&json!({}));
        kubelet(stage, &pinned("KUBERNETES"));
    }
    drop(mirror);
    score.run(stage, &PORT).await;
}

const CASES: [Case; 3] = [
    Case {
        name: "/var is full",
        inject: |stage| {
            // the journal gives room back once
            stage.shell(SPARE, "for i in 1 2 3; do cat /dev/zero >>/root/filler; sync; sleep 0.5; done 2>/dev/null; df -BK /var >&2");
            stage.want_spare(&json!({}));
        },
        on: PLACES,
        cause: &["is full (0 of", "MB free)"],
        remedy: &["Free space there", "it is tried again"],
        undo: |stage| {
            stage.shell(SPARE, "rm /root/filler");
        },
        end: Stage::clear,
    },
    Case {
        name: "containerd is masked",
        inject: |stage| {
            stage.shell(SPARE, "systemctl mask --quiet --now containerd");
            stage.want_spare(&json!({}));
        },
        on: PLACES,
        cause: &["containerd.service is masked on spare"],
        remedy: &["Run there: systemctl unmask containerd"],
        undo: |stage| {
            stage.shell(SPARE, "systemctl unmask --quiet containerd");
        },
        end: Stage::clear,
    },
    Case {
        name: "swap is on",
        inject: |stage| {
            stage.shell(SPARE, r"printf 'Filename\tType\tSize\tUsed\tPriority\n/dev/sda2 partition 1048572 0 -2\n' >/run/swaps; mount --bind /run/swaps /proc/swaps");
            stage.want_spare(&json!({}));
        },
        on: PLACES,
        cause: &["swap is on: /dev/sda2"],
        remedy: &[
            "swapoff -a",
            "/etc/fstab",
            "failSwapOn: false in kubeletConfiguration",
        ],
        undo: |stage| {
            stage.shell(SPARE, "umount /proc/swaps");
        },
        end: Stage::clear,
    },
];

const OF_A_MIRROR: [Case; 2] = [
    Case {
        name: "the mirror answers 404",
        inject: |stage| from_mirror(stage, "none"),
        on: PLACES,
        cause: &["/release/v1.36.2/bin/linux/amd64/kubelet.sha256 answers 404"],
        remedy: &[
            "Put it there",
            "correct it in the template of the MachineDeployment",
        ],
        undo: |stage| kubelet(stage, &pinned("KUBERNETES")),
        end: Stage::clear,
    },
    Case {
        name: "the mirror has another checksum",
        inject: |stage| from_mirror(stage, "wrong"),
        on: PLACES,
        cause: &["kubelet does not have the checksum given in"],
        remedy: &["Put both files of one release into the mirror"],
        undo: |stage| kubelet(stage, &pinned("KUBERNETES")),
        end: Stage::clear,
    },
];

const PORT: Case = Case {
    name: "port 6443 is taken",
    inject: |stage| {
        stage.shell(
            SPARE,
            "systemd-run --quiet --unit=squatter --collect socat TCP-LISTEN:6443,fork,reuseaddr EXEC:true",
        );
        stage.register(&json!({}));
        second(stage, &json!({}));
    },
    on: &["machine/second-control-plane", "cluster/second"],
    cause: &["port 6443 is in use by socat (pid "],
    remedy: &["Stop what listens on it on spare: ss -ltnp 'sport = :6443'"],
    undo: |stage| {
        delete_second(stage);
        stage.shell(SPARE, "systemctl stop squatter");
    },
    end: Stage::clear,
};

/// A Cluster like the quickstart's, with these settings beside, and a Machine for its control plane.
pub fn second(stage: &Stage, settings: &Value) {
    let made = stage.kubectl(&["get", "cluster", "quickstart", "--output=json"]);
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let mut spec = made["spec"].clone();
    let value = &mut spec["providerSpec"]["value"];
    value["controlPlaneEndpoint"]["host"] = format!("{}.101", stage.subnet()).into();
    for (field, setting) in settings.as_object().expect("an object") {
        value["kubeadm"][field] = setting.clone();
    }
    stage.apply_all(
        &json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": SECOND, "namespace": "default"}, "spec": spec}),
    );
    control_plane(stage, SECOND);
}

/// Deleted rather than mended: kubeadm init would wait for images that the further server does not have.
pub fn delete_second(stage: &Stage) {
    stage.kubectl(&["delete", "cluster", SECOND, "--timeout=300s"]);
}

/// A Machine for the control plane of a Cluster, on the further server.
fn control_plane(stage: &Stage, cluster: &str) {
    stage.apply_all(
        &json!({"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine",
        "metadata": {"name": "second-control-plane", "namespace": "default",
            "labels": {"cluster.k8s.io/cluster-name": cluster}},
        "spec": {"versions": {"kubelet": pinned("KUBERNETES"), "controlPlane": pinned("KUBERNETES")},
            "providerSpec": {"value": provider_spec(&json!({}))}}}),
    );
}

fn from_mirror(stage: &Stage, path: &str) {
    let mirror = format!("http://{}.254:8099/{path}", stage.subnet());
    stage.spare_class(&json!({"software": {"source": "mirror", "mirror": mirror}}));
    kubelet(stage, OTHER);
    stage.want_spare(&json!({}));
}

fn kubelet(stage: &Stage, version: &str) {
    let patch = json!({"spec": {"template": {"spec": {"versions": {"kubelet": version}}}}});
    stage.patch("machinedeployment/spare", &patch);
}

/// A mirror whose kubelet is not what its checksum says.
struct Mirror {
    server: Child,
}

impl Mirror {
    fn serve(stage: &Stage) -> Self {
        let site: PathBuf = stage.run().join("site");
        let folder = site.join(format!("wrong/release/{OTHER}/bin/linux/amd64"));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("kubelet"), "another").expect("a file");
        std::fs::write(folder.join("kubelet.sha256"), "0".repeat(64)).expect("a file");
        let address = format!("{}.254", stage.subnet());
        let server = Command::new("python3")
            .args([
                "-m",
                "http.server",
                "8099",
                "--bind",
                &address,
                "--directory",
            ])
            .arg(site)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self {
            server: server.expect("python3"),
        }
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}
