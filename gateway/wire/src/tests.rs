//! The wire format. A change that requires an edit of these texts is incompatible with gateways or
//! managers of other releases.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::event::{ImageGone, MachineGone};
use super::*;

const ID: &str = "3f2b7a52-66f4-4c4a-9d57-0c9d3c7d8e55";

fn parsed<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{value}: {error}"))
}

/// Deserializes and serializes again: the result is identical.
fn stands<T: Serialize + DeserializeOwned>(value: &Value) {
    let again = serde_json::to_value(parsed::<T>(value)).expect("JSON");
    assert_eq!(&again, value);
}

fn refuses<T: DeserializeOwned>(value: &Value) {
    let read = serde_json::from_value::<T>(value.clone());
    assert!(read.is_err(), "{value}");
}

/// Adds an unknown field to every object.
fn of_tomorrow(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| match key.as_str() {
                // its keys are chosen by the caller
                "labels" => (key.clone(), value.clone()),
                _ => (key.clone(), of_tomorrow(value)),
            });
            let more = ("ofTomorrow".to_owned(), json!({ "a": [1] }));
            fields.chain([more]).collect()
        }
        Value::Array(items) => items.iter().map(of_tomorrow).collect(),
        value => value.clone(),
    }
}

fn spec() -> Value {
    json!({
        "name": "w-0-3f2b7a52",
        "labels": {"cluster": "a"},
        "cpus": 2,
        "memoryBytes": 2_147_483_648_u64,
        "firmware": "uefi",
        "rootDisk": {"sizeBytes": 21_474_836_480_u64, "image": "aa", "pool": "default"},
        "disks": [{"name": "data", "sizeBytes": 1_048_576, "pool": "fast"}],
        "interfaces": [{"network": "default"}, {"bridge": "br0"}],
    })
}

fn machine() -> Value {
    json!({
        "id": ID,
        "specHash": "bb",
        "spec": spec(),
        "state": "shuttingDown",
        "stateReason": "ioerror",
        "seed": true,
        "incomplete": true,
        "unreadable": true,
        "addresses": [
            {"mac": "52:54:00:00:00:01", "address": "192.0.2.7", "source": "lease"},
            {"mac": "52:54:00:00:00:01", "address": "192.0.2.8", "source": "arp"},
            {"mac": "52:54:00:00:00:01", "address": "2001:db8::7", "source": "agent"},
        ],
        "interfaces": [
            {"mac": "52:54:00:00:00:01", "network": "default"},
            {"mac": "52:54:00:00:00:02", "bridge": "br0"},
        ],
    })
}

fn image() -> Value {
    json!({
        "sha256": "aa", "pool": "default", "state": "failed", "receivedBytes": 7, "totalBytes": 9,
        "error": {"code": "ChecksumMismatch", "detail": "it is another"},
    })
}

fn capacity() -> Value {
    let amount = json!({"total": 8, "limit": 6, "allocated": 4});
    json!({
        "hostname": "hv-a", "uuid": ID, "libvirtVersion": "9.0.0", "hypervisor": "QEMU 7.2.22",
        "architecture": "x86_64", "acceleration": "kvm", "cpus": amount, "memoryBytes": amount,
        "pools": [{"name": "default", "capacityBytes": 10, "availableBytes": 5}],
        "networks": ["default"], "bridges": ["br0"],
    })
}

fn problem() -> Value {
    json!({
        "type": "about:blank", "title": "Conflict", "status": 409, "detail": "take another",
        "code": "NameTaken",
    })
}

#[test]
fn requests_stand_as_they_are() {
    let mut whole = spec();
    whole["architecture"] = json!("aarch64");
    whole["cpuModel"] = json!("host-model");
    let seed = json!({"userData": "#cloud-config\n", "metaData": "instance-id: a\n"});
    let mut networked = seed.clone();
    networked["networkConfig"] = json!("version: 2\n");
    stands::<MachineRequest>(&json!({"spec": spec(), "seed": seed}));
    stands::<MachineRequest>(&json!({"spec": whole, "seed": networked}));
    stands::<MachineRequest>(&json!({"spec": spec()}));
    let url = "https://images.example/a.qcow2?signed=1";
    for format in ["qcow2", "raw"] {
        stands::<ImageRequest>(&json!({"url": url, "format": format, "pool": "fast"}));
    }
    for action in ["on", "off", "shutdown", "reset", "resume"] {
        let request = json!({ "action": action });
        stands::<PowerRequest>(&request);
        assert_eq!(parsed::<PowerRequest>(&request).action.name(), action);
    }
}

/// A client of an older release omits fields that were added later: they get the default values.
#[test]
fn what_is_left_out_of_a_request_is_at_its_default() {
    let short = json!({
        "name": "a", "cpus": 1, "memoryBytes": 1, "rootDisk": {"sizeBytes": 1},
    });
    let filled = json!({
        "name": "a", "cpus": 1, "memoryBytes": 1, "firmware": "bios",
        "rootDisk": {"sizeBytes": 1, "pool": "default"},
    });
    let request: MachineRequest = parsed(&json!({ "spec": short }));
    assert!(request.seed.is_none());
    assert_eq!(serde_json::to_value(request.spec).expect("JSON"), filled);
    let request: ImageRequest = parsed(&json!({"url": "https://a", "format": "raw"}));
    assert_eq!(request.pool, DEFAULT_POOL);
}

#[test]
fn a_word_that_is_no_value_is_refused_in_requests() {
    refuses::<PowerRequest>(&json!({"action": "of-tomorrow"}));
    refuses::<ImageRequest>(&json!({"url": "https://a", "format": "vmdk"}));
    let mut odd = spec();
    odd["firmware"] = json!("coreboot");
    refuses::<MachineSpec>(&odd);
}

/// The gateway's body extractor detects an unknown field only if no type here rejects it first.
#[test]
fn unknown_fields_are_left_to_whoever_reads() {
    let request = json!({"spec": spec(), "seed": {"userData": "", "metaData": ""}});
    parsed::<MachineRequest>(&of_tomorrow(&request));
    parsed::<PowerRequest>(&of_tomorrow(&json!({"action": "on"})));
}

#[test]
fn answers_and_events_stand_as_they_are() {
    stands::<Machine>(&machine());
    stands::<MachineList>(&json!({"items": [machine()]}));
    stands::<Image>(&image());
    stands::<ImageList>(&json!({"items": [image()]}));
    stands::<Capacity>(&capacity());
    stands::<ProblemBody>(&problem());
    stands::<MachineGone>(&json!({ "id": ID }));
    stands::<ImageGone>(&json!({"pool": "default", "sha256": "aa"}));
    for state in [
        "running",
        "paused",
        "off",
        "crashed",
        "shuttingDown",
        "unknown",
    ] {
        stands::<MachineState>(&json!(state));
    }
    for state in ["fetching", "ready", "failed"] {
        stands::<ImageState>(&json!(state));
    }
    let names = [
        event::MACHINE,
        event::MACHINE_GONE,
        event::IMAGE,
        event::IMAGE_GONE,
        event::CAPACITY,
        event::SYNCED,
    ];
    let expected = [
        "machine",
        "machine-gone",
        "image",
        "image-gone",
        "capacity",
        "synced",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_client_reads_of_a_whole_answer_what_it_looks_at() {
    for answer in [machine(), of_tomorrow(&machine())] {
        let seen: read::Machine = parsed(&answer);
        let whole: Machine = parsed(&machine());
        assert_eq!(seen.id, whole.id.to_string());
        assert_eq!(
            (seen.spec.name, seen.spec.labels),
            (whole.spec.name, whole.spec.labels)
        );
        assert_eq!(
            (seen.state, seen.state_reason),
            (whole.state, whole.state_reason)
        );
        assert!(seen.seed && seen.incomplete && seen.unreadable);
        assert_eq!(seen.addresses, whole.addresses);
        let cards = |mac: &str| read::Card { mac: mac.into() };
        let expected = [cards("52:54:00:00:00:01"), cards("52:54:00:00:00:02")];
        assert_eq!(seen.interfaces, expected);
    }
    for answer in [capacity(), of_tomorrow(&capacity())] {
        let seen: read::Capacity = parsed(&answer);
        assert_eq!(seen.acceleration, "kvm");
        assert_eq!((seen.cpus.free(), seen.memory_bytes.free()), (2, 2));
        let pool = read::Pool {
            name: "default".into(),
        };
        assert_eq!(seen.pools, Some(vec![pool]));
        assert_eq!(seen.networks, Some(vec!["default".to_owned()]));
        assert_eq!(seen.bridges, Some(vec!["br0".to_owned()]));
    }
    assert_eq!(
        parsed::<Image>(&of_tomorrow(&image())),
        parsed::<Image>(&image())
    );
    let seen: read::Problem = parsed(&of_tomorrow(&problem()));
    assert_eq!(
        (seen.code.as_str(), seen.detail.as_str()),
        ("NameTaken", "take another")
    );
}

#[test]
fn a_client_reads_words_and_specs_of_a_newer_gateway() {
    let mut newer = machine();
    newer["spec"] = json!({"name": "a", "cpus": {"sockets": 2}, "firmware": "coreboot"});
    newer["state"] = json!("hibernating");
    newer["addresses"][0]["source"] = json!("neighbours");
    let seen: read::Machine = parsed(&newer);
    assert_eq!(
        (seen.spec.name.as_str(), seen.state),
        ("a", MachineState::Unknown)
    );
    assert_eq!(seen.addresses[0].source, AddressSource::Other);
    let mut newer = image();
    newer["state"] = json!("converting");
    newer["error"]["code"] = json!("OfTomorrow");
    let seen: Image = parsed(&newer);
    assert_eq!(seen.state, ImageState::Other);
    assert_eq!(ImageCode::parse(&seen.error.expect("an error").code), None);
    let mut newer = capacity();
    newer["acceleration"] = json!("hvf");
    assert_eq!(parsed::<read::Capacity>(&newer).acceleration, "hvf");
}

#[test]
fn a_client_reads_answers_that_say_no_more_than_they_must() {
    let least = json!({"id": "a", "spec": {"name": "a"}, "state": "off"});
    let seen: read::Machine = parsed(&least);
    assert!(!seen.seed && !seen.incomplete && !seen.unreadable);
    assert_eq!(seen.address(), None);
    let least =
        json!({"cpus": {"limit": 1, "allocated": 2}, "memoryBytes": {"limit": 1, "allocated": 0}});
    let seen: read::Capacity = parsed(&least);
    assert_eq!(
        seen.cpus.free(),
        -1,
        "others may have more than there is to give"
    );
    assert_eq!(
        (seen.pools, seen.networks, seen.bridges),
        (None, None, None)
    );
    let seen: Image = parsed(&json!({"sha256": "a", "pool": "b", "state": "fetching"}));
    assert_eq!(
        (seen.received_bytes, seen.total_bytes, seen.error),
        (0, None, None)
    );
    assert_eq!(parsed::<read::Problem>(&json!({})).code, "");
}

/// Variants that are only deserialized have no serialized name.
#[test]
fn words_of_a_newer_gateway_are_never_written() {
    assert!(serde_json::to_value(AddressSource::Other).is_err());
    assert!(serde_json::to_value(ImageState::Other).is_err());
}

#[test]
fn codes_stand_by_their_names() {
    for code in Code::ALL {
        assert_eq!(Code::parse(code.as_str()), Some(*code));
    }
    for code in ImageCode::ALL {
        assert_eq!(ImageCode::parse(code.as_str()), Some(*code));
    }
    assert_eq!(Code::UnknownField.as_str(), "UnknownField");
    assert_eq!(Code::parse("OfTomorrow"), None);
}

#[test]
fn user_data_is_in_no_debug_output() {
    let seed = json!({"userData": "hunter2", "metaData": "", "networkConfig": ""});
    let request: MachineRequest = parsed(&json!({"spec": spec(), "seed": seed}));
    assert!(!format!("{request:?}").contains("hunter2"));
}
