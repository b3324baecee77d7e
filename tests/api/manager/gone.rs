//! What the manager keeps for an object ends with it.

use serde_json::json;

use crate::manager::world::World;
use crate::ssh::sshd::Sshd;

#[tokio::test]
#[ignore = "needs a management plane and sshd"]
async fn the_connection_to_a_host_is_closed_when_the_host_is_elsewhere_or_gone() {
    let world = World::new("gone").await;
    let (first, second) = (Sshd::new(), Sshd::new());
    second.authorize(&first.user);
    let key = format!(
        "--from-file=ssh-privatekey={}",
        first.user.private.display()
    );
    let secret = ["secret", "generic", "real", "--type=kubernetes.io/ssh-auth"];
    world.kubectl(&[&["create"], &secret[..], &[&key]].concat());
    let ssh = |sshd: &Sshd| {
        json!({
            "address": "127.0.0.1",
            "port": sshd.port,
            "user": "root",
            "credentialsRef": {"name": "real"},
            "hostKeys": [sshd.host_keys[0].public],
        })
    };
    // nobody is to take this machine
    let spec = json!({"maintenance": true, "ssh": ssh(&first)});
    let host = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "Host",
        "metadata": {"name": "real"},
        "spec": spec,
    });
    world.create("real.yaml", &host.to_string());
    first.wait_logged("Accepted publickey", 1);
    world.patch("host/real", &json!({"spec": {"ssh": ssh(&second)}}));
    second.wait_logged("Accepted publickey", 1);
    first.wait_logged("Connection closed", 1);
    world.kubectl(&["delete", "host/real"]);
    second.wait_logged("Connection closed", 1);
}
