use super::*;
use crate::api::Host;
use crate::machine::live::claim::{
    Choice, Claimant, claimant, host_basis, machine_basis, may_choose, release, without_choice,
};

fn host(claim: &Value) -> Host {
    let host = json!({
        "apiVersion": "tatara.dev/v1alpha1",
        "kind": "Host",
        "metadata": { "namespace": "default", "name": "host-a" },
        "spec": { "ssh": { "address": "192.0.2.1", "credentialsRef": { "name": "key" } }, "consumerRef": claim },
    });
    serde_json::from_value(host).expect("a Host")
}

/// A claim by the Machine of this name and UID.
fn by(name: &str, uid: &str) -> Value {
    json!({ "name": name, "uid": uid, "cluster": "a" })
}

#[test]
fn only_a_host_that_nobody_claims_is_claimed_and_only_the_own_claim_is_released() {
    let me = marker("w-0", ME);
    let mut released = by("w-0", ME);
    released["releasing"] = true.into();
    let other = |name: &str| Claimant::Other(name.into());
    for (case, claim, expected) in [
        ("free", Value::Null, Claimant::Nobody),
        ("own", by("w-0", ME), Claimant::Own),
        ("released", released, Claimant::Own),
        ("another's", by("w-1", OTHER), other("w-1")),
        ("made again", by("w-0", OTHER), other("w-0")),
        ("copied", by("w-1", ME), other("w-1")),
    ] {
        let host = host(&claim);
        let is_own = expected == Claimant::Own;
        assert_eq!(release(&host, &me).is_some(), is_own, "{case}");
        assert_eq!(without_choice(&host, &me).is_some(), !is_own, "{case}");
        assert_eq!(claimant(&host, &me), expected, "{case}");
    }
    let elsewhere = Marker {
        namespace: "other".into(),
        ..me
    };
    let claim = claimant(&host(&by("w-0", ME)), &elsewhere);
    assert_eq!(claim, other("w-0"), "of another namespace");
}

#[test]
fn another_host_is_chosen_only_on_proof_about_this_machine() {
    let clean = |uid: &str| {
        let proof = Proof::of_no_place(uid, false).expect("nothing begun");
        Clean::from(&proof)
    };
    let chosen = || lost(worker(), Unheld::Missing);
    let mut without_id = chosen();
    let change = json!({ "spec": { "providerID": null } });
    without_id = edited(without_id, &change);
    for (case, observed, host, instead, expected) in [
        ("first", worker(), "host-a", None, Some(Choice::Due)),
        ("same", chosen(), "host-a", None, Some(Choice::Recorded)),
        ("no ID", without_id, "host-a", None, Some(Choice::Due)),
        ("other", chosen(), "host-b", None, None),
        ("not its", chosen(), "host-b", clean(OTHER), None),
        ("its", chosen(), "host-b", clean(ME), Some(Choice::Due)),
    ] {
        let choice = may_choose(&observed, host, instead.as_ref());
        assert_eq!(choice.ok(), expected, "{case}");
    }
}

#[test]
fn a_claim_and_a_choice_rest_on_what_may_be_changed_meanwhile() {
    let deleted_at = || {
        let time = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(at(0));
        Some(time)
    };
    let free = || host(&Value::Null);
    let is_same = |change: fn(&mut Host)| {
        let mut changed = free();
        change(&mut changed);
        host_basis(&changed) == host_basis(&free())
    };
    assert!(is_same(|host| {
        host.labels_mut().insert("a".into(), "b".into());
    }));
    assert!(!is_same(|host| host.spec.maintenance = true));
    assert!(!is_same(|host| {
        host.annotations_mut()
            .insert(ANNOTATION_PAUSED.into(), "true".into());
    }));
    let mut goes = free();
    goes.metadata.deletion_timestamp = deleted_at();
    assert_ne!(host_basis(&goes), host_basis(&free()));
    let available = json!({ "status": { "conditions": [{
        "type": "Available", "status": "True", "reason": "Available", "message": "",
        "lastTransitionTime": at(0).to_string(),
    }] } });
    let mut taken = serde_json::to_value(free()).expect("JSON");
    merge(&mut taken, &available);
    let available: Host = serde_json::from_value(taken).expect("a Host");
    assert_ne!(host_basis(&available), host_basis(&free()));

    let machine = machine("w-0", ME, false);
    let mut goes = machine.clone();
    goes.metadata.deletion_timestamp = deleted_at();
    assert_ne!(machine_basis(&goes), machine_basis(&machine));
    let mut moved = machine.clone();
    moved
        .annotations_mut()
        .insert(crate::api::names::ANNOTATION_HOST.into(), "host-b".into());
    assert_ne!(machine_basis(&moved), machine_basis(&machine));
}
