use serde_json::{Value, json};

use super::PlaceKind::{Host, Simulation, VirtualMachine};
use super::*;

fn spec(kind: &str) -> MachineProviderSpec {
    let mut value = json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": format!("{kind}MachineProviderSpec") });
    if kind == "Libvirt" {
        let image = json!({ "url": "https://images.example/a.qcow2", "sha256": "a".repeat(64) });
        value["cpus"] = json!(1);
        value["memory"] = json!("1Gi");
        value["rootDisk"] = json!({ "size": "1Gi", "image": image });
    }
    MachineProviderSpec::decode(&value).expect("a provider spec")
}

fn machine(id: &str, annotations: &[&str]) -> Machine {
    let id = match id {
        "" => Value::Null,
        provider => json!(format!("tatara://{provider}/u")),
    };
    let annotations = annotations
        .iter()
        .map(|key| ((*key).to_owned(), json!("x")))
        .collect::<serde_json::Map<_, _>>();
    let machine = json!({ "metadata": { "namespace": "n", "name": "m", "uid": "u", "annotations": annotations },
        "spec": { "providerID": id } });
    serde_json::from_value(machine).expect("a Machine")
}

type Case = (
    &'static str,
    &'static str,
    &'static [&'static str],
    bool,
    Option<&'static str>,
    Result<Option<PlaceKind>, &'static str>,
);

#[test]
fn what_was_written_down_says_what_a_machine_runs_on_and_its_spec_only_before_that() {
    let both: &[&str] = &[ANNOTATION_HOST, ANNOTATION_HYPERVISOR];
    let host: &[&str] = &[ANNOTATION_HOST];
    let hypervisor: &[&str] = &[ANNOTATION_HYPERVISOR];
    let none: &[&str] = &[];
    let cases: [Case; 24] = [
        ("new", "", none, false, Some("SSH"), Ok(Some(Host))),
        (
            "new virtual",
            "",
            none,
            false,
            Some("Libvirt"),
            Ok(Some(VirtualMachine)),
        ),
        ("unusable", "", none, false, None, Ok(None)),
        ("on a Host", "ssh", host, true, Some("SSH"), Ok(Some(Host))),
        (
            "edited to a simulation",
            "ssh",
            host,
            true,
            Some("Simulated"),
            Ok(Some(Host)),
        ),
        (
            "edited, no claim",
            "ssh",
            host,
            false,
            Some("Simulated"),
            Ok(Some(Host)),
        ),
        (
            "edited, no annotation",
            "ssh",
            none,
            true,
            Some("Libvirt"),
            Ok(Some(Host)),
        ),
        (
            "edited, by its ID alone",
            "ssh",
            none,
            false,
            Some("Simulated"),
            Ok(Some(Host)),
        ),
        (
            "its ID was removed",
            "",
            host,
            true,
            Some("Simulated"),
            Ok(Some(Host)),
        ),
        (
            "its ID was removed, claim alone",
            "",
            none,
            true,
            Some("Libvirt"),
            Ok(Some(Host)),
        ),
        (
            "a pasted Hypervisor",
            "ssh",
            both,
            true,
            Some("SSH"),
            Ok(Some(Host)),
        ),
        (
            "a pasted Hypervisor, claim alone",
            "ssh",
            hypervisor,
            true,
            Some("SSH"),
            Ok(Some(Host)),
        ),
        (
            "a pasted Hypervisor, no place",
            "ssh",
            hypervisor,
            false,
            Some("SSH"),
            Err("tatara.dev/hypervisor-; if"),
        ),
        (
            "a pasted Hypervisor, new",
            "",
            hypervisor,
            false,
            Some("SSH"),
            Err("tatara.dev/hypervisor-"),
        ),
        (
            "no ID and both",
            "",
            both,
            false,
            Some("Libvirt"),
            Err("tatara.dev/host-"),
        ),
        (
            "placed",
            "libvirt",
            hypervisor,
            false,
            Some("Libvirt"),
            Ok(Some(VirtualMachine)),
        ),
        (
            "placed, edited",
            "libvirt",
            hypervisor,
            false,
            Some("Simulated"),
            Ok(Some(VirtualMachine)),
        ),
        (
            "left a Hypervisor",
            "libvirt",
            none,
            false,
            Some("SSH"),
            Ok(Some(VirtualMachine)),
        ),
        (
            "placed, class gone",
            "",
            hypervisor,
            false,
            None,
            Ok(Some(VirtualMachine)),
        ),
        (
            "a pasted Host",
            "libvirt",
            both,
            false,
            Some("Libvirt"),
            Err("machine m tatara.dev/host-; if"),
        ),
        (
            "a claim made for it",
            "libvirt",
            hypervisor,
            true,
            Some("Libvirt"),
            Err("delete that Host"),
        ),
        (
            "simulated",
            "simulated",
            none,
            false,
            None,
            Ok(Some(Simulation)),
        ),
        (
            "simulated by an edit of its ID",
            "simulated",
            host,
            false,
            Some("Simulated"),
            Err("set that back"),
        ),
        (
            "simulated by an edit, virtual",
            "simulated",
            hypervisor,
            false,
            Some("Simulated"),
            Err("set that back"),
        ),
    ];
    for (case, id, annotations, is_claimed, kind, expected) in cases {
        let wanted = kind.map(spec);
        let found = of(&machine(id, annotations), wanted.as_ref(), is_claimed);
        match (found, expected) {
            (Err(message), Err(part)) => assert!(message.contains(part), "{case}: {message}"),
            (found, expected) => assert_eq!(found, expected.map_err(str::to_owned), "{case}"),
        }
    }
}

#[test]
fn the_id_of_another_machine_says_nothing() {
    let mut other = machine("ssh", &[]);
    other.spec.provider_id = Some("tatara://simulated/other".into());
    assert_eq!(of(&other, Some(&spec("SSH")), false), Ok(Some(Host)));
}
