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

fn machine(id: &str, annotations: &[String]) -> Machine {
    let id = match id {
        "" => Value::Null,
        provider => json!(format!("tatara://{provider}/u")),
    };
    let annotations = annotations
        .iter()
        .map(|key| (key.clone(), json!("x")))
        .collect::<serde_json::Map<_, _>>();
    let machine = json!({ "metadata": { "namespace": "n", "name": "m", "uid": "u", "annotations": annotations },
        "spec": { "providerID": id } });
    serde_json::from_value(machine).expect("a Machine")
}

/// What it is, provider of its ID, annotations, whether a Host has its claim, provider spec, and
/// what comes of it: a kind, or part of what is said.
const CASES: &str = "
    new                              |           |                 |       | SSH       | host
    new virtual                      |           |                 |       | Libvirt   | virtual
    unusable                         |           |                 |       |           | nothing
    on a Host                        | ssh       | host            | claim | SSH       | host
    edited to a simulation           | ssh       | host            | claim | Simulated | host
    edited, no claim                 | ssh       | host            |       | Simulated | host
    edited, no annotation            | ssh       |                 | claim | Libvirt   | host
    edited, by its ID alone          | ssh       |                 |       | Simulated | host
    its ID was removed               |           | host            | claim | Simulated | host
    its ID was removed, claim alone  |           |                 | claim | Libvirt   | host
    a pasted Hypervisor              | ssh       | host hypervisor | claim | SSH       | host
    a pasted Hypervisor, claim alone | ssh       | hypervisor      | claim | SSH       | host
    a pasted Hypervisor, no place    | ssh       | hypervisor      |       | SSH       | says tatara.dev/hypervisor-; if
    a pasted Hypervisor, new         |           | hypervisor      |       | SSH       | says tatara.dev/hypervisor-
    no ID and both                   |           | host hypervisor |       | Libvirt   | says tatara.dev/host-
    placed                           | libvirt   | hypervisor      |       | Libvirt   | virtual
    placed, edited                   | libvirt   | hypervisor      |       | Simulated | virtual
    left a Hypervisor                | libvirt   |                 |       | SSH       | virtual
    placed, class gone               |           | hypervisor      |       |           | virtual
    a pasted Host                    | libvirt   | host hypervisor |       | Libvirt   | says machine m tatara.dev/host-; if
    a claim made for it              | libvirt   | hypervisor      | claim | Libvirt   | says delete that Host
    simulated                        | simulated |                 |       |           | simulated
    simulated by an edit of its ID   | simulated | host            |       | Simulated | says set that back
    simulated by an edit, virtual    | simulated | hypervisor      |       | Simulated | says set that back
";

#[test]
fn what_was_written_down_says_what_a_machine_runs_on_and_its_spec_only_before_that() {
    for line in CASES.trim().lines() {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [case, id, annotations, claim, kind, expected] = columns[..] else {
            panic!("six columns: {line}");
        };
        let annotations: Vec<String> = annotations
            .split_whitespace()
            .map(|name| format!("tatara.dev/{name}"))
            .collect();
        let wanted = (!kind.is_empty()).then(|| spec(kind));
        let found = of(
            &machine(id, &annotations),
            wanted.as_ref(),
            claim == "claim",
        );
        let says = match &found {
            Ok(Some(Host)) => "host",
            Ok(Some(VirtualMachine)) => "virtual",
            Ok(Some(Simulation)) => "simulated",
            Ok(None) => "nothing",
            Err(message) => message,
        };
        match expected.strip_prefix("says ") {
            Some(part) => assert!(found.is_err() && says.contains(part), "{case}: {says}"),
            None => assert_eq!(says, expected, "{case}"),
        }
    }
}

#[test]
fn the_id_of_another_machine_says_nothing() {
    let mut other = machine("ssh", &[]);
    other.spec.provider_id = Some("tatara://simulated/other".into());
    assert_eq!(of(&other, Some(&spec("SSH")), false), Ok(Some(Host)));
}
