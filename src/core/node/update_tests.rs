use serde_json::{Map, json};

use super::tests::{everything, on_host, text};
use super::*;
use crate::api::machine_provider_spec::{NodeSettings, SoftwareSource};

fn upgraded(role: Role, settings: &NodeSettings) -> Unit {
    let kubelet = Map::from_iter([("maxPods".to_owned(), json!(99))]);
    on_host(role, settings, |input| {
        upgrade(input, ("", &[]), &kubelet, "kind: x".to_owned())
    })
    .unwrap()
}

fn from_packages() -> NodeSettings {
    let mut settings = NodeSettings::default();
    settings.software.source = SoftwareSource::Packages;
    settings
}

#[test]
fn a_control_plane_in_another_version_with_an_image_archive() {
    let mut settings = from_packages();
    settings.software.image_archives = everything().software.image_archives;
    let unit = upgraded(Role::ControlPlane, &settings);
    let secrets: Vec<_> = unit.secrets.iter().map(|file| &*file.name).collect();
    assert_eq!(secrets, ["upgrade.yaml"]);
    insta::assert_snapshot!(text(&unit));
}

#[test]
fn a_kubelet_from_packages() {
    let unit = on_host(Role::Worker, &from_packages(), |input| kubelet(input, "")).unwrap();
    insta::assert_snapshot!(text(&unit));
}

/// The same script as in preparing, so that a host imports an archive once; without archives the unit is what it was.
#[test]
fn image_archives_come_before_kubeadm_changes_anything() {
    let all = everything();
    let prepared = on_host(Role::Worker, &all, prepare).unwrap();
    let images = prepared.steps.iter().find(|step| step.name == "images");
    let mut none = all.clone();
    none.software.image_archives.clear();
    for (role, settings, wanted) in [
        (Role::ControlPlane, &all, "kubeadm images recorded upgrade"),
        (Role::ControlPlane, &none, "kubeadm recorded upgrade"),
        (Role::Worker, &all, "kubeadm images upgrade"),
        (Role::Worker, &none, "kubeadm upgrade"),
    ] {
        let unit = upgraded(role, settings);
        let names: Vec<_> = unit.steps.iter().map(|step| step.name).collect();
        assert_eq!(names.join(" "), wanted);
        let own = unit.steps.iter().find(|step| step.name == "images");
        assert!(own.is_none_or(|own| Some(own) == images), "{wanted}");
    }
}
