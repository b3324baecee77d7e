//! Hosts that cannot be had: a Machine waits for one, and says why.

use serde_json::json;

use crate::case::Case;
use crate::score::Score;
use crate::stage::{SPARE, Stage};

const PLACES: &[&str] = &[
    "host/spare",
    "machine/spare-*",
    "machinedeployment/spare",
    "cluster/quickstart",
];

const RIGHT: fn(&Stage) = |stage| stage.register(&json!({}));

pub async fn all(stage: &Stage, score: &mut Score) {
    for case in &CASES {
        score.run(stage, case).await;
    }
}

const CASES: [Case; 8] = [
    Case {
        name: "the host shows another key than the pinned one",
        inject: |stage| stage.want_spare(&json!({"hostKeys": stage.keys("host-b")})),
        on: PLACES,
        cause: &[
            "failed to verify the key of root@",
            "but it presented SHA256:",
        ],
        remedy: &[
            "verify that key on its console",
            "hostKeys in place of the old one",
        ],
        undo: RIGHT,
        end: Stage::clear,
    },
    Case {
        name: "the host is off",
        inject: |stage| {
            stage.fleet(&["kill", SPARE]);
            stage.want_spare(&json!({}));
        },
        on: PLACES,
        cause: &["failed to reach root@"],
        remedy: &["check the address", "the network and sshd"],
        undo: |stage| stage.start_spare(),
        end: Stage::clear,
    },
    Case {
        name: "authorized_keys is empty",
        inject: |stage| {
            stage.as_debian(
                "mv /root/.ssh/authorized_keys /root/.ssh/away; : >/root/.ssh/authorized_keys",
            );
            stage.want_spare(&json!({}));
        },
        on: PLACES,
        cause: &["failed to log in to root@", "as root with key"],
        remedy: &["add the public key to ~root/.ssh/authorized_keys"],
        undo: |stage| {
            stage.as_debian("mv /root/.ssh/away /root/.ssh/authorized_keys");
            stage.look_again("host/spare");
        },
        end: Stage::clear,
    },
    Case {
        name: "the user is unknown on the host",
        inject: |stage| stage.want_spare(&json!({"user": "ghost", "privilege": "sudo"})),
        on: PLACES,
        cause: &["failed to log in to ghost@", "as ghost"],
        remedy: &["correct user or credentialsRef"],
        undo: RIGHT,
        end: Stage::clear,
    },
    Case {
        name: "the user may not use sudo",
        inject: |stage| stage.want_spare(&json!({"user": "nosudo", "privilege": "sudo"})),
        on: PLACES,
        cause: &["failed to become root on nosudo@", "by sudo"],
        remedy: &["/etc/sudoers.d/tatara", "NOPASSWD", "retried every minute"],
        undo: RIGHT,
        end: Stage::clear,
    },
    Case {
        name: "the Secret with the key is missing",
        inject: |stage| stage.want_spare(&json!({"credentialsRef": {"name": "missing"}})),
        on: PLACES,
        cause: &["credentialsRef names Secret missing"],
        remedy: &["kubectl -n default create secret generic missing"],
        undo: RIGHT,
        end: Stage::clear,
    },
    Case {
        name: "the host runs a foreign Kubernetes",
        inject: |stage| {
            stage.shell(
                SPARE,
                "mkdir -p /etc/kubernetes/manifests; echo >/etc/kubernetes/manifests/etcd.yaml",
            );
            stage.want_spare(&json!({}));
        },
        on: PLACES,
        cause: &[
            "a Kubernetes node that Tatara does not manage",
            "/etc/kubernetes/manifests/etcd.yaml",
        ],
        remedy: &["run on the host: kubeadm reset"],
        undo: |stage| {
            stage.shell(SPARE, "rm -r /etc/kubernetes/manifests");
            stage.look_again("host/spare");
        },
        end: Stage::clear,
    },
    Case {
        name: "the host has another's machine-id",
        inject: |stage| {
            let id = stage.shell("host-b", "cat /etc/machine-id");
            stage.shell(
                SPARE,
                &format!("cp /etc/machine-id /root/machine-id; echo {id} >/etc/machine-id"),
            );
            stage.want_spare(&json!({}));
        },
        on: PLACES,
        cause: &["its machine-id", "is also that of Host default/host-b"],
        remedy: &[
            "rm -f /etc/machine-id /var/lib/dbus/machine-id && systemd-machine-id-setup && reboot",
        ],
        undo: |stage| {
            stage.shell(SPARE, "cp /root/machine-id /etc/machine-id");
            stage.look_again("host/spare");
        },
        end: Stage::clear,
    },
];
