//! A simulation proves that nothing runs, and a provider spec that names one can be written by
//! anybody.

use super::*;

fn simulated(observed: Observed, id: &Value) -> Observed {
    let value =
        json!({ "apiVersion": "tatara.dev/v1alpha1", "kind": "SimulatedMachineProviderSpec" });
    let mut observed = edited(observed, &json!({ "spec": { "providerID": id } }));
    observed.spec = Ok(MachineProviderSpec::decode(&value).expect("a provider spec"));
    observed.placement = Placement::None(Ok("w-0".into()));
    observed
}

fn by_simulation() -> Proof {
    Proof::of_simulation(ME, false).expect("a proof")
}

#[test]
fn only_a_simulation_by_its_provider_id_goes_without_more() {
    let (ssh, own) = (
        format!("tatara://ssh/{ME}"),
        format!("tatara://simulated/{ME}"),
    );
    let gone = [finalizer_by(&by_simulation())];
    let real = simulated(worker(), &json!(own));
    assert_eq!(
        plan(&deleted(real, at(0)), at(1)).actions,
        gone,
        "simulated"
    );
    let new = simulated(worker(), &Value::Null);
    assert_eq!(
        plan(&deleted(new, at(0)), at(1)).actions,
        gone,
        "nothing was begun"
    );

    let host = json!({ "metadata": { "annotations": { "tatara.dev/host": "host-a" } } });
    let begun = json!({ "metadata": { "annotations": { ANNOTATION_SETTINGS: "{}" } } });
    let missing = |observed| lost(observed, Unheld::Missing);
    for (case, edited) in [
        (
            "an SSH Machine",
            missing(edited(simulated(worker(), &json!(ssh)), &host)),
        ),
        (
            "without its ID",
            missing(edited(simulated(worker(), &Value::Null), &host)),
        ),
        (
            "with another ID",
            missing(edited(simulated(worker(), &json!(own)), &host)),
        ),
        (
            "by a marker alone",
            missing(simulated(worker(), &json!(own))),
        ),
        (
            "nothing but what was begun",
            edited(simulated(worker(), &Value::Null), &begun),
        ),
    ] {
        let actions = plan(&deleted(edited, at(0)), at(1)).actions;
        assert_eq!(actions, [], "{case}");
    }
}

#[test]
fn a_spec_of_another_provider_changes_nothing_and_is_said() {
    let id = json!(format!("tatara://ssh/{ME}"));
    let mut on_host = simulated(ours(worker(), Vec::new()), &id);
    on_host.placement = held(Contact::NotAsked);
    on_host.claims = vec!["host-a".into()];
    let says = (
        "InfrastructureReady",
        "InvalidConfiguration",
        &["provider ssh", "Set spec.providerSpec back"][..],
    );
    expect("edited", &plan(&on_host, at(0)), &[], says);
    let leaving = plan(&deleted(on_host, at(0)), at(1));
    assert_eq!(
        leaving.actions,
        [Action::Release(Release::Now)],
        "its Host is let go, and reset"
    );
}
