//! Everything up to kubeadm: checks, kernel, programs, container runtime, images.

use minijinja::{Value, context};
use serde_json::Map;

use super::super::job::JobKind;
use super::super::spec::{StepSpec, UnitSpec};
use super::{UnitError, commands, step};
use crate::api::machine_provider_spec::{NodeSettings, Proxy, SoftwareSource};
use crate::kubeadm::KubernetesVersion;

/// First minor version whose kubelet does not start on cgroup v1 unless `failCgroupV1` is false.
const CGROUP_V1_REFUSED_SINCE: u64 = 35;

/// What a machine is in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It runs the control plane.
    ControlPlane,
    /// It runs pods only.
    Worker,
}

/// What [`prepare`] needs to know.
#[derive(Clone, Debug)]
pub struct Prepare<'a> {
    /// What the machine becomes.
    pub role: Role,
    /// Name that its Node will have.
    pub node_name: &'a str,
    /// Version of its kubelet: the Machine's.
    pub kubelet_version: &'a KubernetesVersion,
    /// Version of the control plane, and so of kubeadm.
    pub control_plane_version: &'a KubernetesVersion,
    /// The `node` section of its provider spec.
    pub settings: &'a NodeSettings,
    /// The KubeletConfiguration that kubeadm will get; cgroupDriver, failSwapOn and failCgroupV1
    /// are read.
    pub kubelet_configuration: &'a Map<String, serde_json::Value>,
    /// `ClusterConfiguration.imageRepository`, when it is set.
    pub image_repository: Option<&'a str>,
    /// The cluster's pod networks; the host must have no address in them.
    pub pod_cidrs: &'a [String],
    /// The networks of its Services, likewise.
    pub service_cidrs: &'a [String],
    /// What nodes reach without a proxy: pod and service networks, the cluster's domain, its
    /// endpoint.
    pub no_proxy: &'a [String],
    /// Port of the API server of a control plane.
    pub api_port: u16,
    /// Whether pods or Services have IPv6 addresses.
    pub ipv6: bool,
}

/// The unit that makes a host ready for kubeadm.
///
/// # Errors
/// [`UnitError`]: an image archive has no checksum.
pub fn prepare(input: &Prepare<'_>) -> Result<UnitSpec, UnitError> {
    let settings = input.settings;
    let mut steps = vec![preflight(input)];
    steps.extend(files(input));
    steps.push(step(
        "kernel",
        "Kernel modules and settings",
        "steps/kernel.sh",
        context! { ipv6 => input.ipv6 },
    ));
    steps.push(kube(input));
    steps.push(containerd(input));
    steps.extend(proxy(input));
    steps.extend(images(input)?);
    steps.extend(commands(
        "pre-kubeadm",
        "Commands before kubeadm",
        "preKubeadmCommands",
        &settings.pre_kubeadm_commands,
    ));
    Ok(UnitSpec {
        kind: JobKind::Prepare,
        steps,
        secrets: Vec::new(),
    })
}

fn preflight(input: &Prepare<'_>) -> StepSpec {
    let flag = |name: &str| input.kubelet_configuration.get(name)?.as_bool();
    let ports = |list: &[u16]| list.iter().map(u16::to_string).collect::<Vec<_>>();
    let (role, min_memory, min_cpus, ports) = match input.role {
        Role::ControlPlane => (
            "control-plane",
            1700, // kubeadm's own minimum
            2,
            ports(&[input.api_port, 10250, 10257, 10259, 2379, 2380]),
        ),
        Role::Worker => ("worker", 700, 1, ports(&[10250])),
    };
    let values = context! {
        role, min_memory, min_cpus, ports,
        versions => versions(input),
        node_name => input.node_name,
        pod_cidrs => input.pod_cidrs.to_vec(),
        service_cidrs => input.service_cidrs.to_vec(),
        swap_allowed => flag("failSwapOn") == Some(false),
        cgroup_v1_allowed => input.kubelet_version.minor() < CGROUP_V1_REFUSED_SINCE
            || flag("failCgroupV1") == Some(false),
        cgroup_driver => cgroup_driver(input),
        mirrors => !input.settings.registry_mirrors.is_empty(),
        preinstalled => input.settings.software.source == SoftwareSource::Preinstalled,
    };
    step(
        "preflight",
        "Checks of the host",
        "steps/preflight.sh",
        values,
    )
}

fn files(input: &Prepare<'_>) -> Option<StepSpec> {
    let files: Vec<Value> = input
        .settings
        .files
        .iter()
        .map(|file| context! { path => &file.path, mode => &file.mode, content => &file.content })
        .collect();
    if files.is_empty() {
        return None;
    }
    let values = context! { files };
    Some(step("files", "Files of the spec", "steps/files.sh", values))
}

fn kube(input: &Prepare<'_>) -> StepSpec {
    step(
        "kube",
        "kubelet, kubeadm and kubectl",
        "steps/kube.sh",
        software(input),
    )
}

/// Where kubelet, kubeadm and kubectl come from, and in which versions.
pub(super) fn software(input: &Prepare<'_>) -> Value {
    let software = &input.settings.software;
    let source = match software.source {
        SoftwareSource::Preinstalled => "preinstalled",
        SoftwareSource::Packages => "packages",
        SoftwareSource::Mirror => "mirror",
    };
    let mirror = software.mirror.as_deref().unwrap_or_default();
    context! {
        source,
        mirror => mirror.trim_end_matches('/'),
        versions => versions(input),
        proxy => downloads(input),
    }
}

pub(super) fn containerd(input: &Prepare<'_>) -> StepSpec {
    let mirrors: Vec<Value> = input
        .settings
        .registry_mirrors
        .iter()
        .map(|(registry, urls)| context! { registry, urls => urls.clone() })
        .collect();
    let values = context! {
        version => input.control_plane_version.to_string(),
        image_repository => input.image_repository,
        systemd_cgroup => cgroup_driver(input) == "systemd",
        mirrors,
        proxy => downloads(input),
    };
    step(
        "containerd",
        "Container runtime",
        "steps/containerd.sh",
        values,
    )
}

fn proxy(input: &Prepare<'_>) -> Option<StepSpec> {
    let proxy = input.settings.proxy.as_ref()?;
    let line = |name: &str, value: &str| {
        let value = value.replace('\\', r"\\").replace('"', "\\\"");
        format!("{name}=\"{value}\"")
    };
    let mut environment = Vec::new();
    environment.extend(
        proxy
            .http_proxy
            .as_deref()
            .map(|url| line("HTTP_PROXY", url)),
    );
    environment.extend(
        proxy
            .https_proxy
            .as_deref()
            .map(|url| line("HTTPS_PROXY", url)),
    );
    environment.push(line("NO_PROXY", &no_proxy(input, proxy)));
    let values = context! { environment };
    Some(step(
        "proxy",
        "Proxy of the container runtime",
        "steps/proxy.sh",
        values,
    ))
}

/// The archives of container images, if there are any; each is imported once on a machine,
/// whichever unit has this step.
pub(super) fn images(input: &Prepare<'_>) -> Result<Option<StepSpec>, UnitError> {
    let archives = image_archives(&input.settings.software.image_archives)?;
    if archives.is_empty() {
        return Ok(None);
    }
    let values = context! { archives, proxy => downloads(input) };
    Ok(Some(step(
        "images",
        "Container images",
        "steps/images.sh",
        values,
    )))
}

fn image_archives(urls: &[String]) -> Result<Vec<Value>, UnitError> {
    let is_checksum = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    urls.iter()
        .enumerate()
        .map(|(index, url)| match url.split_once("#sha256=") {
            Some((address, sha256)) if is_checksum(sha256) => Ok(context! {
                url => address,
                sha256 => sha256.to_ascii_lowercase(),
            }),
            _ => Err(UnitError::ImageArchive {
                index,
                url: url.clone(),
            }),
        })
        .collect()
}

/// kubeadm's default is systemd since v1.22.
fn cgroup_driver<'a>(input: &Prepare<'a>) -> &'a str {
    let driver = input.kubelet_configuration.get("cgroupDriver");
    driver
        .and_then(serde_json::Value::as_str)
        .unwrap_or("systemd")
}

fn versions(input: &Prepare<'_>) -> Value {
    context! {
        kubelet => input.kubelet_version.to_string(),
        kubeadm => input.control_plane_version.to_string(),
    }
}

fn downloads(input: &Prepare<'_>) -> Option<Value> {
    let proxy = input.settings.proxy.as_ref()?;
    Some(context! {
        http => proxy.http_proxy.as_deref().unwrap_or_default(),
        https => proxy.https_proxy.as_deref().unwrap_or_default(),
        no => no_proxy(input, proxy),
    })
}

fn no_proxy(input: &Prepare<'_>, proxy: &Proxy) -> String {
    let own = [
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    let all: Vec<String> = [&own[..], input.no_proxy, &proxy.no_proxy].concat();
    all.join(",")
}
