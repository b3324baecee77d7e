use serde_json::{Map, json};

use super::tests::{everything, on_host, text};
use super::*;
use crate::api::machine_provider_spec::{NodeSettings, SoftwareSource};

fn upgraded(role: Role, settings: &NodeSettings) -> Unit {
    let kubelet = Map::from_iter([("maxPods".to_owned(), json!(99))]);
    on_host(role, settings, |input| {
        Ok(upgrade(input, ("", &[]), &kubelet, "kind: x".to_owned()))
    })
    .unwrap()
}

fn from_packages() -> NodeSettings {
    let mut settings = NodeSettings::default();
    settings.software.source = SoftwareSource::Packages;
    settings
}

#[test]
fn a_control_plane_in_another_version() {
    let unit = upgraded(Role::ControlPlane, &from_packages());
    let secrets: Vec<_> = unit.secrets.iter().map(|file| &*file.name).collect();
    assert_eq!(secrets, ["upgrade.yaml"]);
    insta::assert_snapshot!(text(&unit));
}

#[test]
fn a_kubelet_from_packages() {
    let unit = on_host(Role::Worker, &from_packages(), |input| {
        Ok(kubelet(input, ""))
    })
    .unwrap();
    insta::assert_snapshot!(text(&unit));
}

/// The same script as in preparing, so that a host imports an archive once; a unit of its own,
/// before etcd is asked.
#[test]
fn image_archives_are_a_unit_of_their_own() {
    let all = everything();
    let prepared = on_host(Role::Worker, &all, prepare).unwrap();
    let images = prepared.steps.iter().find(|step| step.name == "images");
    let mut none = all.clone();
    none.software.image_archives.clear();
    for role in [Role::ControlPlane, Role::Worker] {
        let unit = on_host(role, &all, |input| archives(input).map(Option::unwrap));
        let unit = unit.unwrap();
        assert_eq!((unit.kind, unit.steps.len()), (JobKind::Images, 1));
        assert_eq!(unit.steps.first(), images);
        on_host(role, &none, |input| {
            assert!(archives(input)?.is_none());
            Ok(upgrade(input, ("", &[]), &Map::new(), "kind: x".to_owned()))
        })
        .unwrap();
        let names = |settings| -> Vec<_> {
            let unit = upgraded(role, settings);
            unit.steps.iter().map(|step| step.name).collect()
        };
        assert_eq!(names(&all), names(&none));
    }
}
