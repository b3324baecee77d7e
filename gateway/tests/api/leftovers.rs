//! What is not there to be deleted now is deleted later, and not forgotten.

use std::fs;

use serde_json::json;
use uuid::Uuid;

use crate::support::client::{machine, spec};
use crate::support::hypervisor::Hypervisor;
use crate::{ready_image, request};

const ID: Uuid = Uuid::from_u128(9);

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_machine_stays_while_one_of_its_pools_is_not_active() {
    let hypervisor = Hypervisor::up("gwidle", 36);
    hypervisor.pool("second", 8);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let mut wanted = spec("a");
    wanted["disks"] = json!([{"name": "data", "sizeBytes": 1 << 20, "pool": "second"}]);
    let made = client.create(ID, &wanted).await;
    assert_eq!(made.status.as_u16(), 201, "{made:?}");
    let before = hypervisor.inventory();
    hypervisor.virsh(&["pool-destroy", "second"]);
    let refused = client.delete(&machine(ID)).await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.code()),
        (409, "PoolInactive")
    );
    assert_eq!(hypervisor.inventory(), before);
    hypervisor.virsh(&["pool-start", "second"]);
    assert_eq!(client.delete(&machine(ID)).await.status.as_u16(), 204);
    assert_eq!(hypervisor.virsh(&["vol-list", "second"]).trim(), "");
    // its seed would be in the first pool
    client.create(ID, &wanted).await;
    hypervisor.virsh(&["pool-destroy", "default"]);
    let refused = client.delete(&format!("{}/seed", machine(ID))).await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.code()),
        (409, "PoolInactive")
    );
    hypervisor.virsh(&["pool-start", "default"]);
    // a pool that is gone for good holds nothing up
    hypervisor.virsh(&["pool-destroy", "second"]);
    hypervisor.virsh(&["pool-undefine", "second"]);
    assert_eq!(client.delete(&machine(ID)).await.status.as_u16(), 204);
    assert!(hypervisor.inventory().domains.is_empty());
}

#[tokio::test]
#[ignore = "needs libvirtd"]
async fn a_seed_that_was_detached_and_not_deleted_is_still_shown_and_deleted() {
    let hypervisor = Hypervisor::up("gwlate", 37);
    let gateway = hypervisor.gateway(&[]);
    let client = gateway.client();
    let image = ready_image(&hypervisor, &client).await;
    client.put(&machine(ID), &request("a", &image)).await;
    client.power(ID, "off").await;
    hypervisor.virsh(&["detach-disk", "a", "vdc", "--config"]);
    let file = format!("tatara-{ID}-seed.img");
    let seed = hypervisor.pool_folder().join(file);
    assert!(seed.exists());
    assert_eq!(client.get(&machine(ID)).await.json()["seed"], true);
    assert_eq!(client.machines().await[0]["seed"], true);
    let gone = client.delete(&format!("{}/seed", machine(ID))).await;
    assert_eq!(gone.status.as_u16(), 204, "{gone:?}");
    assert!(!seed.exists());
    assert_eq!(client.get(&machine(ID)).await.json()["seed"], false);

    // with its machine it goes overwritten as well
    client.delete(&machine(ID)).await;
    client.put(&machine(ID), &request("a", &image)).await;
    let kept = hypervisor.folder.join("kept");
    fs::hard_link(&seed, &kept).expect("a second name");
    assert_eq!(client.delete(&machine(ID)).await.status.as_u16(), 204);
    let content = fs::read(kept).expect("what was a seed");
    assert!(!content.is_empty() && content.iter().all(|byte| *byte == 0));
}
