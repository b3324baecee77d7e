mod answers;

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use minijinja::context;
use serde_json::{Map, json};

use super::*;
use crate::api::machine_provider_spec::{NodeFile, NodeSettings, Proxy, Software, SoftwareSource};
use crate::kubeadm::KubernetesVersion;
use crate::node::ControlPlaneFile;

fn version(text: &str) -> KubernetesVersion {
    text.parse().unwrap()
}

fn marker() -> Marker {
    Marker {
        management: "0d7a2f0e".into(),
        namespace: "default".into(),
        cluster: "c1".into(),
        machine: "c1-cp".into(),
        uid: "5e2b7a64".into(),
    }
}

fn prepared(role: Role, settings: &NodeSettings, kubelet: serde_json::Value) -> Unit {
    let serde_json::Value::Object(kubelet) = kubelet else {
        panic!("not an object: {kubelet}");
    };
    on_host(role, settings, |input| {
        prepare(&Prepare {
            kubelet_configuration: &kubelet,
            ..input.clone()
        })
    })
    .unwrap()
}

/// A unit of a host that has these settings.
pub(super) fn on_host(
    role: Role,
    settings: &NodeSettings,
    make: impl FnOnce(&Prepare<'_>) -> Result<UnitSpec, UnitError>,
) -> Result<Unit, UnitError> {
    let spec = make(&Prepare {
        role,
        node_name: "node-1",
        kubelet_version: &version("1.35.4"),
        control_plane_version: &version("1.36.3"),
        settings,
        kubelet_configuration: &Map::new(),
        image_repository: None,
        pod_cidrs: &["10.244.0.0/16".into()],
        service_cidrs: &["10.96.0.0/16".into(), "fd00:10:96::/112".into()],
        no_proxy: &["10.96.0.0/16".into(), "cluster.local".into()],
        api_port: 6443,
        ipv6: false,
    })?;
    Ok(spec.render()?)
}

pub(super) fn everything() -> NodeSettings {
    NodeSettings {
        software: Software {
            source: SoftwareSource::Mirror,
            mirror: Some("http://mirror.example/kubernetes/".into()),
            image_archives: vec![format!(
                "http://mirror.example/images.tar#sha256={}",
                "AB".repeat(32)
            )],
        },
        proxy: Some(Proxy {
            http_proxy: Some("http://user:p\"a's$s@proxy:3128".into()),
            https_proxy: None,
            no_proxy: vec!["intra.example".into()],
        }),
        registry_mirrors: BTreeMap::from([(
            "docker.io".into(),
            vec!["https://a.example".into(), "https://b.example".into()],
        )]),
        files: vec![NodeFile {
            path: "/etc/it's here".into(),
            mode: "0640".into(),
            content: "{{ not a template }}\n$(not a command)\n".into(),
        }],
        pre_kubeadm_commands: vec!["echo \"it's\" && true".into()],
        post_kubeadm_commands: Vec::new(),
    }
}

fn key_file(name: &str, text: &str) -> ControlPlaneFile {
    ControlPlaneFile {
        path: format!("/etc/kubernetes/pki/{name}"),
        mode: 0o600,
        content: text.to_owned().into(),
    }
}

pub(super) fn text(unit: &Unit) -> String {
    let steps = unit.steps.iter();
    let texts =
        steps.map(|step| [step.name, ": ", step.title, "\n", &own(&step.script), "\n"].concat());
    texts.collect()
}

/// A script without the parts that are the same in every script.
fn own(script: &str) -> String {
    render::TEMPLATES
        .iter()
        .filter(|(name, source)| name.starts_with("lib/") && !source.contains("{{"))
        .fold(script.to_owned(), |text, (name, source)| {
            text.replace(source, &format!("[{name}]\n"))
        })
}

#[test]
fn every_value_in_a_template_passes_the_quoting_filter() {
    for (name, source) in render::TEMPLATES {
        for value in source.split("{{").skip(1) {
            let value = value.split("}}").next().unwrap();
            assert!(value.ends_with(" | sh "), "{name}: {{{{{value}}}}}");
        }
    }
}

#[test]
fn every_template_file_is_known_to_the_renderer() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates/node");
    let mut files = Vec::new();
    for folder in ["", "lib", "steps"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
                files.push(name.strip_suffix(".j2").unwrap().to_owned());
            }
        }
    }
    files.sort();
    let mut known: Vec<_> = render::TEMPLATES.iter().map(|(name, _)| *name).collect();
    known.sort_unstable();
    assert_eq!(files, known);
}

#[test]
fn values_are_quoted_for_the_shell() {
    let quoted = |value: minijinja::Value| render::shell_words(&value).unwrap();
    assert_eq!(quoted("it's $(x)\n`y`".into()), "'it'\\''s $(x)\n`y`'");
    assert_eq!(quoted("".into()), "''");
    assert_eq!(quoted(51.into()), "51");
    assert_eq!(quoted(true.into()), "true");
    assert_eq!(quoted(false.into()), "false");
    assert_eq!(quoted(vec!["a b", "c"].into()), "'a b' 'c'");
    assert_eq!(quoted(Vec::<String>::new().into()), "");
    assert!(render::shell_words(&"a\0b".into()).is_err());
    assert!(render::shell_words(&context! { a => 1 }).is_err());
}

#[test]
fn a_missing_value_is_an_error_and_not_an_empty_word() {
    let error = render::script("log.sh", context! { uid => "u" }).unwrap_err();
    assert_eq!(error.to_string(), "failed to render log.sh");
}

#[test]
fn a_script_does_not_show_what_is_in_it() {
    let mut unit = prepared(Role::Worker, &NodeSettings::default(), json!({}));
    unit.secrets.push(SecretFile {
        name: "kubeadm.yaml".into(),
        content: "canary".to_owned().into(),
    });
    let script = start_and_follow(&marker(), &unit, 1, Timestamp::UNIX_EPOCH).unwrap();
    assert!(!script.as_str().contains("canary"), "secrets are encoded");
    assert!(script.as_str().contains("Y2FuYXJ5"));
    assert!(!format!("{script:?}{unit:?}").contains("anary"));
}

#[test]
fn the_identity_is_that_of_the_steps_without_secrets_tokens_and_times() {
    let bootstrap = |token: &str| Bootstrap {
        kubeadm: format!("token: {token}").into(),
        pki: vec![key_file("ca.key", token)],
        virtual_ip: None,
        pod_cidrs: &[],
        post_kubeadm_commands: &[],
    };
    let one = join(bootstrap("one")).render().unwrap();
    let two = join(bootstrap("two")).render().unwrap();
    assert_eq!(one.identity(), two.identity());
    assert_eq!(one.identity().len(), 64);
    let init = init(bootstrap("one")).render().unwrap();
    assert_ne!(one.identity(), init.identity());
    let early = start_and_follow(&marker(), &one, 1, Timestamp::UNIX_EPOCH).unwrap();
    assert!(early.as_str().contains(&one.identity()));
    let mut other = one.clone();
    other.steps[0].script.push_str("# changed\n");
    assert_ne!(other.identity(), one.identity());
}

#[test]
fn a_worker_with_preinstalled_software() {
    let unit = prepared(Role::Worker, &NodeSettings::default(), json!({}));
    insta::assert_snapshot!(text(&unit));
}

#[test]
fn a_control_plane_with_everything_from_a_mirror() {
    let kubelet = json!({"cgroupDriver": "cgroupfs", "failSwapOn": false, "failCgroupV1": false});
    insta::assert_snapshot!(text(&prepared(Role::ControlPlane, &everything(), kubelet)));
}

#[test]
fn software_from_packages() {
    let mut settings = NodeSettings::default();
    settings.software.source = SoftwareSource::Packages;
    let unit = prepared(Role::Worker, &settings, json!({}));
    let kube = unit.steps.iter().find(|step| step.name == "kube").unwrap();
    insta::assert_snapshot!(own(&kube.script));
}

#[test]
fn a_first_control_plane_with_a_virtual_ip() {
    let unit = init(Bootstrap {
        kubeadm: "kind: InitConfiguration".to_owned().into(),
        pki: vec![key_file("etcd/ca.key", "key")],
        virtual_ip: Some(VirtualIpInput {
            address: "10.77.0.100",
            own_address: "10.77.0.11",
            peers: &[],
            api_port: 6443,
            interface: None,
            router_id: None,
        }),
        pod_cidrs: &["10.244.0.0/16".into()],
        post_kubeadm_commands: &["echo done".into()],
    })
    .render()
    .unwrap();
    let names: Vec<_> = unit.secrets.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(
        names,
        ["kubeadm.yaml", "root/etc/kubernetes/pki/etcd/ca.key"]
    );
    insta::assert_snapshot!(text(&unit));
}

#[test]
fn a_reset() {
    let unit = reset(&Reset {
        pod_cidrs: &["10.244.0.0/16".into()],
    })
    .render()
    .unwrap();
    insta::assert_snapshot!(text(&unit));
}

#[test]
fn an_image_archive_needs_its_checksum() {
    let mut settings = everything();
    settings
        .software
        .image_archives
        .push("http://x/y.tar".into());
    let error = on_host(Role::Worker, &settings, prepare).unwrap_err();
    assert_eq!(
        error.to_string(),
        "providerSpec.value.node.software.imageArchives[1] is \"http://x/y.tar\"; it needs its checksum at the end: #sha256=<64 hexadecimal digits>"
    );
}

/// What an older manager started is found, followed and logged by the same names.
#[test]
fn the_names_of_jobs_on_hosts_stay() {
    let names = JobKind::ALL.map(JobKind::as_str);
    assert_eq!(
        names,
        [
            "prepare", "init", "join", "address", "images", "upgrade", "kubelet", "addons", "reset"
        ]
    );
    for kind in JobKind::ALL {
        let (job, name) = (marker().job(kind), kind.as_str());
        let follow = follow(&job).unwrap();
        let dir = format!("local dir=$MACHINES/'{}'/'{name}'", marker().uid);
        assert!(follow.as_str().contains(&dir), "{dir}");
        let unit = Unit {
            kind,
            steps: Vec::new(),
            secrets: Vec::new(),
        };
        let start = start_and_follow(&marker(), &unit, 1, Timestamp::UNIX_EPOCH).unwrap();
        let variable = format!("\nunit='{name}' identity=");
        assert!(start.as_str().contains(&variable), "{variable}");
        let printed =
            json!({"machine": job.key, "unit": name, "identity": "ab", "state": "succeeded"});
        let status: UnitStatus = serde_json::from_value(printed).unwrap();
        assert_eq!(status.job, job);
    }
}
