//! A template that was pasted from a Machine has that one's records in it, and they reach no
//! Machine of the set.

use super::*;

#[test]
fn the_records_of_a_machine_are_no_part_of_a_template() {
    let mut observed = set(1);
    for record in ["hypervisor", "host", "host-is-gone", "kubeadm-settings"] {
        let key = format!("tatara.dev/{record}");
        let annotations = &mut observed.template.metadata.annotations;
        annotations.insert(key, "x".into());
    }
    let only = with(observed.clone(), [machine("ms-0")]);
    assert_eq!(plan(&only, at(0)).actions, [], "in place");
    let made = desired_machine(&observed, "ms-0");
    assert_eq!(made.metadata.annotations, None, "made");

    let note = "machine.cluster.k8s.io/exclude-node-draining";
    let annotations = &mut observed.template.metadata.annotations;
    annotations.insert(note.into(), String::new());
    let made = desired_machine(&observed, "ms-0").metadata.annotations;
    let made: Vec<String> = made.unwrap_or_default().into_keys().collect();
    assert_eq!(made, [note], "what people say of their Machines");
}
