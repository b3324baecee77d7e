//! kubeadm on a prepared host.

use minijinja::context;
use secrecy::SecretString;

use super::super::job::JobKind;
use super::super::spec::{StepSpec, UnitSpec};
use super::super::unit::SecretFile;
use super::virtual_ip::{VirtualIpInput, virtual_ip};
use super::{commands, step};
use crate::node::ControlPlaneFile;

/// Name of the step that runs the Machine's commands after kubeadm.
pub const POST_KUBEADM: &str = "post-kubeadm";

/// What [`init`] and [`join`] need to know. The documents and keys do not count for the unit's
/// identity, because each attempt has another token.
#[derive(Clone, Debug)]
pub struct Bootstrap<'a> {
    /// kubeadm's configuration, all documents.
    pub kubeadm: SecretString,
    /// Certificates and keys of a control plane; none on a worker.
    pub pki: Vec<ControlPlaneFile>,
    /// The cluster's virtual IP, on a control plane whose endpoint is held that way.
    pub virtual_ip: Option<VirtualIpInput<'a>>,
    /// The cluster's pod networks; an earlier attempt's routes into them are removed.
    pub pod_cidrs: &'a [String],
    /// Commands of the spec that run after kubeadm.
    pub post_kubeadm_commands: &'a [String],
}

/// The unit that makes a cluster's first control plane. When it has succeeded, the marker says
/// `initialized`, and running it again does nothing.
pub fn init(input: Bootstrap<'_>) -> UnitSpec {
    let kubeadm = step(
        "init",
        "kubeadm init",
        "steps/init.sh",
        context! { fields => "kubeadm.clusterConfiguration, kubeadm.initConfiguration or kubeletConfiguration" },
    );
    unit(JobKind::Init, kubeadm, input)
}

/// The unit that makes a host a node of a cluster. When it has succeeded, the marker says `joined`,
/// and running it again does nothing.
pub fn join(input: Bootstrap<'_>) -> UnitSpec {
    let kubeadm = step(
        "join",
        "kubeadm join",
        "steps/join.sh",
        context! { fields => "kubeadm.joinConfiguration" },
    );
    unit(JobKind::Join, kubeadm, input)
}

fn unit(kind: JobKind, kubeadm: StepSpec, input: Bootstrap<'_>) -> UnitSpec {
    let mut steps = vec![step(
        "recover",
        "What an earlier attempt left",
        "steps/recover.sh",
        context! { pod_cidrs => input.pod_cidrs.to_vec() },
    )];
    if let Some(address) = &input.virtual_ip {
        steps.push(virtual_ip(address));
    }
    steps.push(kubeadm);
    steps.extend(commands(
        POST_KUBEADM,
        "Commands after kubeadm",
        "postKubeadmCommands",
        input.post_kubeadm_commands,
    ));
    let pki = input.pki.into_iter().map(|file| SecretFile {
        name: format!("root{}", file.path),
        content: file.content,
    });
    let configuration = SecretFile {
        name: "kubeadm.yaml".to_owned(),
        content: input.kubeadm,
    };
    UnitSpec {
        kind,
        steps,
        secrets: [configuration].into_iter().chain(pki).collect(),
    }
}
