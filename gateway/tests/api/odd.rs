//! One odd thing at a hypervisor is left out, and everything else is seen.

use serde_json::json;
use uuid::Uuid;

use crate::support::client::spec;
use crate::support::hypervisor::Hypervisor;

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn odd_interfaces_blind_nobody_and_a_bridge_with_nothing_plugged_in_is_used() {
    let hypervisor = Hypervisor::up("gwodd", 41);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    for command in [
        "link add under0 type veth peer name under1",
        "link set under0 up",
        "link set under1 up",
        "link add link under0 name under0.mac type macvlan",
        "link set under0.mac up",
        "link add inner0 type bridge",
        "link set inner0 up",
    ] {
        let words: Vec<&str> = ["ip"].into_iter().chain(command.split(' ')).collect();
        hypervisor.inside(&words);
    }
    let bridges = client.capacity().await["bridges"].clone();
    assert_eq!(bridges, json!(["inner0"]));
    let mut wanted = spec("a");
    wanted["interfaces"] = json!([{"bridge": "inner0"}, {"network": "default"}]);
    let made = client.create(Uuid::from_u128(41), &wanted).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");
}
