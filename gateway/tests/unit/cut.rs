//! A create that was cut between the first start of its domain and the mark that it is done: its
//! guest may have run.

use std::fs;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::client::{machine, spec};
use crate::support::gateway::{Gateway, NODE};

const ID: Uuid = Uuid::from_u128(7);

/// A gateway on a hypervisor with such a domain, which is off, and with its disk: a volume that has
/// taken a MiB.
async fn cut() -> Gateway {
    let (of, seen) = {
        let gateway = Gateway::start(&[]);
        let made = gateway.client().create(ID, &spec("a")).await.json();
        (
            made["specHash"].as_str().expect("text").to_owned(),
            made["spec"].to_string(),
        )
    };
    let domain = format!(
        "<domain type='test' xmlns:test='http://libvirt.org/schemas/domain/test/1.0'>
         <name>a</name><uuid>{ID}</uuid><memory>65536</memory><vcpu>1</vcpu>
         <metadata><tatara:machine xmlns:tatara='https://tatara.dev/libvirt/1' hash='{of}' creating='true'>
         <tatara:spec>{seen}</tatara:spec></tatara:machine>
         </metadata><test:runstate>5</test:runstate><os><type>hvm</type></os></domain>"
    );
    let disk = format!(
        "<volume><name>tatara-{ID}-root.qcow2</name><capacity unit='G'>1</capacity>
         <allocation unit='M'>1</allocation><target><path>/nowhere/tatara-{ID}-root.qcow2</path></target></volume>"
    );
    let node = NODE
        .replace("<network>", &format!("{domain}<network>"))
        .replace("</pool>", &format!("{disk}</pool>"));
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("node.xml"), node).expect("a file");
    let uri = format!("test://{}/node.xml", folder.path().display());
    Gateway::on(&uri, folder, &[])
}

fn free(capacity: &Value) -> u64 {
    capacity["pools"][0]["availableBytes"]
        .as_u64()
        .expect("a size")
}

#[tokio::test]
async fn a_create_that_was_cut_is_finished_with_the_disk_that_it_has() {
    for by in ["the same request", "power"] {
        let gateway = cut().await;
        let client = gateway.client();
        let before = client.get(&machine(ID)).await.json();
        assert_eq!(
            (&before["state"], &before["incomplete"]),
            (&json!("off"), &json!(true))
        );
        let free_before = free(&client.capacity().await);
        let answer = match by {
            "power" => client.power(ID, "on").await,
            _ => client.create(ID, &spec("a")).await,
        };
        assert!(answer.status.is_success(), "{by}: {answer:?}");
        let now = client.get(&machine(ID)).await.json();
        assert_eq!(
            (&now["state"], now.get("incomplete")),
            (&json!("running"), None),
            "{by}"
        );
        // a disk that is made anew has taken nothing
        assert_eq!(free(&client.capacity().await), free_before, "{by}");
    }
}
