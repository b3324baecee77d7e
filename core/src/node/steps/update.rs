//! A node in another version of Kubernetes, on its host.

use minijinja::context;
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::super::job::JobKind;
use super::super::spec::UnitSpec;
use super::super::unit::SecretFile;
use super::prepare::{Prepare, Role, containerd, images, software};
use super::{UnitError, step};

/// Name of the step that may change the static pods of a control plane.
pub const UPGRADE_STEP: &str = "upgrade";

/// The archives of container images, before kubeadm starts anything that needs them, also on a
/// worker: its next kube-proxy and sandbox are in them. A unit of its own, since it may take long:
/// what etcd said before it is no proof after it. `None`: there are none.
///
/// # Errors
/// [`UnitError`]: an archive has no checksum.
pub fn archives(input: &Prepare<'_>) -> Result<Option<UnitSpec>, UnitError> {
    let unit = |step| UnitSpec {
        kind: JobKind::Images,
        steps: vec![step],
        secrets: Vec::new(),
    };
    Ok(images(input)?.map(unit))
}

/// The unit of `kubeadm upgrade`. On a control plane it moves the cluster's record (ConfigMap
/// `kubeadm-config`) where that is older; `configuration` is kubeadm's `UpgradeConfiguration`. It
/// leaves the kubelet as it is. `settings` stands for those that kubeadm's ConfigMaps have: with
/// others it is another unit. `phases` are the only ones of `kubeadm upgrade node` that run, if
/// there are any; `kubelet` is the user's part of the `KubeletConfiguration` that kubeadm has.
pub fn upgrade(
    input: &Prepare<'_>,
    (settings, phases): (&str, &[&'static str]),
    kubelet: &Map<String, Value>,
    configuration: String,
) -> UnitSpec {
    let values = context! {
        control_plane => input.role == Role::ControlPlane,
        settings,
        phases => phases.to_vec(),
        kubelet_fields => told_fields(kubelet),
        fields => "kubeadm.upgradeConfiguration",
        ..software(input)
    };
    let mut steps = vec![step(
        "kubeadm",
        "kubeadm in the new version",
        "steps/kubeadm.sh",
        software(input),
    )];
    if input.role == Role::ControlPlane {
        let title = "The version that kubeadm has recorded";
        steps.push(step("recorded", title, "steps/recorded.sh", values.clone()));
    }
    steps.push(step(
        UPGRADE_STEP,
        "kubeadm upgrade",
        "steps/upgrade.sh",
        values,
    ));
    UnitSpec {
        kind: JobKind::Upgrade,
        steps,
        secrets: vec![upgrade_file(configuration)],
    }
}

/// The fields of the kubelet's configuration that the user sets to something: kubeadm writes no
/// empty ones.
fn told_fields(kubelet: &Map<String, Value>) -> Vec<String> {
    let says_something = |value: &Value| match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    };
    let fields = kubelet.iter().filter(|(_, value)| says_something(value));
    fields.map(|(field, _)| field.clone()).collect()
}

/// The unit that replaces the kubelet, and starts it anew; `settings` as for [`upgrade`].
pub fn kubelet(input: &Prepare<'_>, settings: &str) -> UnitSpec {
    UnitSpec {
        kind: JobKind::Kubelet,
        steps: vec![
            containerd(input),
            step(
                "kubelet",
                "kubelet in the new version",
                "steps/kubelet.sh",
                context! {
                    settings,
                    control_plane => input.role == Role::ControlPlane,
                    ..software(input)
                },
            ),
        ],
        secrets: Vec::new(),
    }
}

/// The unit that brings these of kubeadm's addons to the version of the control plane that runs;
/// `configuration` as for [`upgrade`].
pub fn addons(input: &Prepare<'_>, addons: &[&'static str], configuration: String) -> UnitSpec {
    let values = context! { addons => addons.to_vec(), fields => "kubeadm.upgradeConfiguration", ..software(input) };
    UnitSpec {
        kind: JobKind::Addons,
        steps: vec![step(
            "addons",
            "CoreDNS and kube-proxy in the new version",
            "steps/addons.sh",
            values,
        )],
        secrets: vec![upgrade_file(configuration)],
    }
}

fn upgrade_file(configuration: String) -> SecretFile {
    SecretFile {
        name: "upgrade.yaml".to_owned(),
        content: SecretString::from(configuration),
    }
}
