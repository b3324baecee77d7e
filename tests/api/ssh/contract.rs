//! The contract of providers, of a Host whose server answers.

use serde_json::json;

use super::sshd::Sshd;
use crate::support::contract::holds;
use crate::support::contract::hosts::OneHost;

#[tokio::test]
#[ignore = "needs sshd, run by make test"]
async fn hosts_fulfil_the_contract_of_providers() {
    let sshd = Sshd::new();
    let key = std::fs::read_to_string(&sshd.user.private).unwrap();
    let pinned: Vec<_> = sshd.host_keys[0].public.splitn(3, ' ').take(2).collect();
    let ssh = json!({"address": "127.0.0.1", "port": sshd.port, "hostKeys": [pinned.join(" ")]});
    let world = OneHost::new(ssh, &key).await;
    Box::pin(holds(&world)).await;
    // its server was asked
    sshd.wait_logged("Accepted publickey", 1);
}
