use reqwest::StatusCode;
use serde_json::json;
use uuid::Uuid;

use crate::support::client::{machine, spec};
use crate::support::gateway::{FOREIGN, Gateway, NODE};

const ID: Uuid = Uuid::from_u128(0x3f2b_7a52_66f4_4c4a_9d57_0c9d_3c7d_8e55);

#[tokio::test]
async fn a_machine_is_made_once_and_the_same_request_again_finds_it() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let made = client.create(ID, &spec("a")).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let found = client.create(ID, &spec("a")).await;
    assert_eq!(found.status, StatusCode::OK, "{found:?}");
    assert_eq!(made.json(), found.json());
    assert_eq!(made.json(), client.get(&machine(ID)).await.json());
    assert_eq!(client.machines().await, [made.json()]);
    let made = made.json();
    assert_eq!(
        (&made["state"], &made["seed"]),
        (&json!("running"), &json!(false))
    );
    assert_eq!(made["spec"]["firmware"], "bios");
    assert_eq!(made["interfaces"][0]["network"], "default");
}

#[tokio::test]
async fn twenty_deliveries_of_one_create_make_one_machine() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let (machine_spec, creates) = (spec("a"), 20);
    let creates = (0..creates).map(|_| client.create(ID, &machine_spec));
    let answers = futures::future::join_all(creates).await;
    let made = answers
        .iter()
        .filter(|answer| answer.status == StatusCode::CREATED)
        .count();
    let found = answers
        .iter()
        .filter(|answer| answer.status == StatusCode::OK)
        .count();
    assert_eq!((made, found), (1, 19), "{answers:?}");
    assert_eq!(client.machines().await.len(), 1);
}

#[tokio::test]
async fn of_ten_machines_of_one_name_one_is_made_and_the_others_leave_nothing() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let wanted = spec("a");
    let ids = (1..=10).map(Uuid::from_u128);
    let answers = futures::future::join_all(ids.map(|id| client.create(id, &wanted))).await;
    let (made, refused): (Vec<_>, Vec<_>) = answers
        .iter()
        .partition(|answer| answer.status == StatusCode::CREATED);
    assert_eq!((made.len(), refused.len()), (1, 9), "{answers:?}");
    assert!(refused.iter().all(|answer| answer.code() == "NameTaken"));
    let id = client.machines().await[0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    client.delete(&format!("/v1/machines/{id}")).await;
    let pool = &client.capacity().await["pools"][0];
    assert_eq!(pool["capacityBytes"], pool["availableBytes"]);
}

#[tokio::test]
async fn another_spec_under_the_same_id_is_refused_and_changes_nothing() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let made = client.create(ID, &spec("a")).await.json();
    let mut other = spec("a");
    other["cpus"] = json!(2);
    let refused = client.create(ID, &other).await;
    assert_eq!(
        (refused.status, &*refused.code()),
        (StatusCode::CONFLICT, "SpecDiffers")
    );
    assert_eq!(client.get(&machine(ID)).await.json(), made);
}

#[tokio::test]
async fn the_seed_is_no_part_of_the_spec() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    client.create(ID, &spec("a")).await;
    let body = json!({"spec": spec("a"), "seed": {"userData": "secret-words", "metaData": ""}});
    let found = client.put(&machine(ID), &body).await;
    assert_eq!(found.status, StatusCode::OK, "{found:?}");
    assert!(!found.text.contains("secret-words"));
    assert!(!gateway.log().contains("secret-words"));
}

#[tokio::test]
async fn a_deleted_machine_is_gone_and_deleting_it_again_is_no_error() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let before = client.capacity().await;
    client.create(ID, &spec("a")).await;
    assert_ne!(client.capacity().await, before);
    for _ in 0..2 {
        assert_eq!(
            client.delete(&machine(ID)).await.status,
            StatusCode::NO_CONTENT
        );
    }
    let gone = client.get(&machine(ID)).await;
    assert_eq!(
        (gone.status, &*gone.code()),
        (StatusCode::NOT_FOUND, "MachineUnknown")
    );
    // the pool's free space included: no volume is left
    assert_eq!(client.capacity().await, before);
}

#[tokio::test]
async fn a_domain_that_is_not_ours_is_never_touched() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let before = client.capacity().await;
    let id: Uuid = FOREIGN.parse().expect("a UUID");
    let taken = client.create(id, &spec("a")).await;
    assert_eq!(
        (taken.status, &*taken.code()),
        (StatusCode::CONFLICT, "NameTaken")
    );
    let taken = client.create(ID, &spec("foreign")).await;
    assert_eq!(
        (taken.status, &*taken.code()),
        (StatusCode::CONFLICT, "NameTaken")
    );
    assert_eq!(
        client.delete(&machine(id)).await.status,
        StatusCode::NO_CONTENT
    );
    assert_eq!(client.power(id, "off").await.code(), "MachineUnknown");
    assert_eq!(client.get(&machine(id)).await.code(), "MachineUnknown");
    assert_eq!(client.machines().await.len(), 0);
    assert_eq!(client.capacity().await, before);
}

#[tokio::test]
async fn power_does_what_it_says_and_may_be_asked_twice() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    client.create(ID, &spec("a")).await;
    let steps = [
        ("on", 204, "running"),
        ("resume", 204, "running"),
        ("off", 204, "off"),
        ("off", 204, "off"),
        ("shutdown", 204, "off"),
        ("reset", 409, "off"),
        ("resume", 409, "off"),
        ("on", 204, "running"),
        ("on", 204, "running"),
        ("shutdown", 204, "off"),
    ];
    for (action, status, state) in steps {
        let answer = client.power(ID, action).await;
        assert_eq!(answer.status.as_u16(), status, "{action}: {answer:?}");
        assert_eq!(
            client.get(&machine(ID)).await.json()["state"],
            state,
            "{action}"
        );
    }
    assert_eq!(
        client.power(Uuid::from_u128(1), "on").await.code(),
        "MachineUnknown"
    );
}

#[tokio::test]
async fn labels_and_the_whole_spec_come_back_as_they_were() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let words = "<a href='&\">]]>\u{1f600}\u{ffff}\n\u{1}";
    let mut wanted = spec("a");
    wanted["labels"] = json!({"cluster": words, "machine": "ö"});
    wanted["disks"] = json!([{"name": "data", "sizeBytes": 1 << 20, "pool": "default"}]);
    client.create(ID, &wanted).await;
    let seen = client.get(&machine(ID)).await.json();
    assert_eq!(seen["spec"]["labels"], wanted["labels"]);
    assert_eq!(seen["spec"]["disks"], wanted["disks"]);
}

#[tokio::test]
async fn what_the_driver_cannot_do_is_said_and_leaves_nothing() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let before = client.capacity().await;
    let body = json!({"spec": spec("a"), "seed": {"userData": "x", "metaData": "y"}});
    let refused = client.put(&machine(ID), &body).await;
    assert_eq!(
        (refused.status.as_u16(), &*refused.code()),
        (501, "NotSupportedByDriver")
    );
    assert_eq!(client.capacity().await, before);
    client.create(ID, &spec("a")).await;
    let console = client.get(&format!("{}/console", machine(ID))).await;
    assert_eq!(console.code(), "NotSupportedByDriver");
    let seed = client.delete(&format!("{}/seed", machine(ID))).await;
    assert_eq!(seed.status, StatusCode::NO_CONTENT, "there is none");
    let image = json!({"url": "http://127.0.0.1/", "format": "raw"});
    let image = client
        .put(&format!("/v1/images/{}", "0".repeat(64)), &image)
        .await;
    assert_eq!(image.code(), "NotSupportedByDriver");
}

#[tokio::test]
async fn a_spec_that_means_nothing_here_is_refused_with_field_and_remedy() {
    let gateway = Gateway::start(&[]);
    let client = gateway.client();
    let changes = [
        ("/rootDisk/pool", json!("nopool"), 422, "spec.rootDisk.pool"),
        (
            "/interfaces/0/network",
            json!("nonet"),
            422,
            "spec.interfaces[0].network",
        ),
        (
            "/interfaces/0",
            json!({"bridge": "br9"}),
            422,
            "spec.interfaces[0].bridge",
        ),
        ("/architecture", json!("s390x"), 422, "spec.architecture"),
        (
            "/rootDisk/image",
            json!("0".repeat(64)),
            409,
            "spec.rootDisk.image",
        ),
        ("/name", json!("Not A Name"), 422, "spec.name"),
    ];
    for (pointer, value, status, field) in changes {
        let mut wanted = spec("a");
        wanted["architecture"] = json!("i686");
        wanted["rootDisk"]["pool"] = json!("default");
        wanted["rootDisk"]["image"] = json!(null);
        *wanted.pointer_mut(pointer).expect("a field") = value;
        let refused = client.create(ID, &wanted).await;
        assert_eq!(refused.status.as_u16(), status, "{refused:?}");
        assert!(
            refused.json()["detail"]
                .as_str()
                .expect("text")
                .starts_with(field),
            "{refused:?}"
        );
    }
    assert_eq!(client.machines().await.len(), 0);
}

#[tokio::test]
async fn a_machine_that_a_newer_gateway_made_is_shown_as_far_as_its_domain_tells_and_can_be_deleted()
 {
    let newer = format!(
        r#"<domain type='test'><name>newer</name><uuid>{ID}</uuid><memory>131072</memory><vcpu>2</vcpu>
           <os><type>hvm</type></os>
           <metadata><tatara:machine xmlns:tatara="https://tatara.dev/libvirt/1" hash="abc">
             <tatara:spec>{{"firmware":"of-tomorrow"}}</tatara:spec></tatara:machine></metadata></domain></node>"#
    );
    let gateway = Gateway::of_node(&NODE.replace("</node>", &newer), &[]);
    let client = gateway.client();
    let shown = client.get(&machine(ID)).await;
    assert_eq!(shown.status, StatusCode::OK, "{shown:?}");
    let shown = shown.json();
    assert_eq!(client.machines().await, std::slice::from_ref(&shown));
    assert_eq!(
        (&shown["unreadable"], &shown["state"]),
        (&json!(true), &json!("running"))
    );
    assert_eq!(
        (&shown["spec"]["name"], &shown["spec"]["cpus"]),
        (&json!("newer"), &json!(2))
    );
    let gone = client.delete(&machine(ID)).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    assert!(client.machines().await.is_empty());
}
