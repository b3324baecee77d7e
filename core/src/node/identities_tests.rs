use minijinja::context;
use proptest::prelude::*;
use serde_json::json;

use super::super::spec::StepSpec;
use super::super::{Prepare, Role, VirtualIpInput, address, archives, kubelet, prepare, upgrade};
use super::*;
use crate::api::machine_provider_spec::{NodeFile, NodeSettings, Proxy, Software, SoftwareSource};
use crate::kubeadm::KubernetesVersion;

/// What units are made from, as far as it changes.
#[derive(Clone, Debug)]
struct Input {
    role: Role,
    versions: [KubernetesVersion; 2],
    settings: NodeSettings,
    kubelet: serde_json::Map<String, serde_json::Value>,
    /// Names, addresses and networks.
    words: [String; 4],
    list: Vec<String>,
    port: u16,
    flags: [bool; 2],
}

/// Few, so that the same comes again in another place.
fn word() -> impl Strategy<Value = String> {
    let words = vec!["", "a", "b", "ab", "a b", "a'b", "10.0.0.1", "true", "1"];
    prop::sample::select(words).prop_map(str::to_owned)
}

fn words() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(word(), 0..3)
}

fn version() -> impl Strategy<Value = KubernetesVersion> {
    prop::sample::select(vec!["v1.34.1", "v1.35.4", "v1.36.3"])
        .prop_map(|text| text.parse().expect("a version"))
}

fn settings() -> impl Strategy<Value = NodeSettings> {
    let source = prop::sample::select(vec![
        SoftwareSource::Preinstalled,
        SoftwareSource::Packages,
        SoftwareSource::Mirror,
    ]);
    let archive = (word(), any::<bool>()).prop_map(|(url, other)| {
        let digit = if other { "1" } else { "0" };
        format!("http://x/{url}#sha256={}", digit.repeat(64))
    });
    let software = (
        source,
        prop::option::of(word()),
        prop::collection::vec(archive, 0..2),
    );
    let proxy = (prop::option::of(word()), prop::option::of(word()), words());
    let proxy = proxy.prop_map(|(http_proxy, https_proxy, no_proxy)| Proxy {
        http_proxy,
        https_proxy,
        no_proxy,
    });
    let file = (word(), word()).prop_map(|(path, content)| NodeFile {
        path: format!("/etc/{path}"),
        mode: "0600".into(),
        content,
    });
    let mirrors = prop::collection::btree_map(word(), words(), 0..2);
    let files = prop::collection::vec(file, 0..2);
    (
        software,
        prop::option::of(proxy),
        mirrors,
        files,
        words(),
        words(),
    )
        .prop_map(
            |((source, mirror, image_archives), proxy, mirrors, files, before, after)| {
                NodeSettings {
                    software: Software {
                        source,
                        mirror,
                        image_archives,
                    },
                    proxy,
                    registry_mirrors: mirrors,
                    files,
                    pre_kubeadm_commands: before,
                    post_kubeadm_commands: after,
                }
            },
        )
}

fn input() -> impl Strategy<Value = Input> {
    let role = prop::sample::select(vec![Role::ControlPlane, Role::Worker]);
    let kubelet = prop::sample::select(vec![
        json!({}),
        json!({ "failSwapOn": false }),
        json!({ "cgroupDriver": "cgroupfs", "maxPods": 0 }),
        json!({ "maxPods": 99 }),
    ]);
    (
        role,
        [version(), version()],
        settings(),
        kubelet,
        [word(), word(), word(), word()],
        words(),
        6443_u16..6446,
        any::<[bool; 2]>(),
    )
        .prop_map(
            |(role, versions, settings, kubelet, words, list, port, flags)| Input {
                role,
                versions,
                settings,
                kubelet: kubelet.as_object().cloned().unwrap_or_default(),
                words,
                list,
                port,
                flags,
            },
        )
}

/// All units that plans compare.
fn specs(of: &Input) -> Vec<UnitSpec> {
    let networks = [of.words[1].clone()];
    let input = Prepare {
        role: of.role,
        node_name: &of.words[0],
        kubelet_version: &of.versions[0],
        control_plane_version: &of.versions[1],
        settings: &of.settings,
        kubelet_configuration: &of.kubelet,
        image_repository: of.flags[0].then_some(&*of.words[2]),
        pod_cidrs: &networks,
        service_cidrs: &of.list,
        no_proxy: &of.list,
        api_port: of.port,
        ipv6: of.flags[1],
    };
    let phases: &[&str] = if of.flags[0] {
        &["kubelet-config"]
    } else {
        &[]
    };
    let text = of.words[3].clone();
    let mut specs = vec![
        prepare(&input).expect("a spec"),
        upgrade(&input, (&of.words[3], phases), &of.kubelet, text),
        kubelet(&input, &of.words[3]),
        address(&VirtualIpInput {
            address: &of.words[0],
            own_address: &of.words[1],
            peers: &of.list,
            api_port: of.port,
            interface: of.flags[0].then_some(&*of.words[2]),
            router_id: of.flags[1].then_some(7),
        }),
    ];
    specs.extend(archives(&input).expect("a spec"));
    specs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    /// One of them is changed in some of its parts, again and again, and comes back as it was.
    #[test]
    fn whatever_changes_the_identity_is_that_of_the_scripts(
        first in input(),
        others in prop::collection::vec((input(), any::<[bool; 8]>()), 1..4),
    ) {
        let identities = Identities::default();
        let mut inputs = vec![first.clone()];
        for (other, takes) in others {
            let last = inputs.last().cloned().expect("the first");
            inputs.push(Input {
                role: if takes[0] { other.role } else { last.role },
                versions: if takes[1] { other.versions } else { last.versions },
                settings: if takes[2] { other.settings } else { last.settings },
                kubelet: if takes[3] { other.kubelet } else { last.kubelet },
                words: if takes[4] { other.words } else { last.words },
                list: if takes[5] { other.list } else { last.list },
                port: if takes[6] { other.port } else { last.port },
                flags: if takes[7] { other.flags } else { last.flags },
            });
        }
        inputs.push(first);
        for input in &inputs {
            for spec in specs(input) {
                let rendered = spec.render().expect("scripts").identity();
                let planned = identities.plan(spec).expect("a unit");
                prop_assert_eq!(&planned.identity, &rendered);
            }
        }
    }
}

fn spec(values: Value) -> UnitSpec {
    let step = StepSpec {
        name: "commands",
        title: "Commands",
        template: "steps/commands.sh",
        values,
    };
    UnitSpec {
        kind: JobKind::Prepare,
        steps: vec![step],
        secrets: Vec::new(),
    }
}

fn commands(command: &str) -> UnitSpec {
    spec(context! { field => "f", commands => vec![command.to_owned()] })
}

#[test]
fn a_unit_that_was_planned_before_is_not_rendered_again() {
    let identities = Identities::default();
    let first = identities.plan(commands("true")).unwrap();
    let rendered = commands("true").render().unwrap();
    assert_eq!(first.identity, rendered.identity());
    // what stands there is not what rendering gives
    let key = key(&commands("true")).unwrap();
    identities.lock().put(key, "remembered".into());
    let again = identities.plan(commands("true")).unwrap();
    assert_eq!(again.identity, "remembered");
    assert_eq!(again.render().unwrap().identity(), first.identity);
    let other = identities.plan(commands("false")).unwrap();
    assert_ne!(other.identity, "remembered");
}

#[test]
fn a_unit_that_does_not_render_is_refused_each_time() {
    let identities = Identities::default();
    for _ in 0..2 {
        let error = identities.plan(commands("a\0b")).unwrap_err();
        assert_eq!(error.to_string(), "failed to render steps/commands.sh");
    }
}

#[test]
fn values_of_other_kinds_or_in_other_lists_have_other_keys() {
    let list = |of: &[&'static str]| Value::from(of.to_vec());
    let values = [
        Value::from(()),
        Value::from(""),
        Value::from("1"),
        Value::from(1),
        Value::from(1.5),
        Value::from(true),
        Value::from(false),
        Value::from("true"),
        list(&[]),
        list(&[""]),
        list(&["", ""]),
        list(&["a", "b"]),
        list(&["ab"]),
        Value::from(vec![list(&["a"]), list(&["b"])]),
        Value::from(vec![list(&["a", "b"])]),
        context! {},
        context! { a => "b" },
        context! { a => list(&["b"]) },
        context! { a => (), b => () },
        context! { a => context! { b => () } },
    ];
    let keys: Vec<_> = values.map(|value| key(&spec(value))).into();
    for (at, one) in keys.iter().enumerate() {
        assert!(one.is_some(), "{at}");
        assert!(!keys[..at].contains(one), "{at}");
    }
    assert_eq!(key(&spec(Value::UNDEFINED)), None);
    let again = context! { ..context! { a => "b" } };
    assert_eq!(key(&spec(again)), key(&spec(context! { a => "b" })));
}

#[test]
fn those_that_were_asked_for_last_are_kept_and_no_more_than_twice_as_many() {
    let key = |number: usize| {
        let mut key = Key::default();
        key[..8].copy_from_slice(&number.to_be_bytes());
        key
    };
    let mut kept = Generations::default();
    for number in 0..5 * KEPT {
        kept.put(key(number), number.to_string());
        assert!(kept.young.len() + kept.old.len() <= 2 * KEPT);
        // the first is asked for now and then
        if number % (KEPT / 2) == 0 {
            assert_eq!(kept.get(&key(0)).as_deref(), Some("0"));
        }
    }
    for number in 4 * KEPT + 1..5 * KEPT {
        assert_eq!(kept.get(&key(number)), Some(number.to_string()));
    }
    assert_eq!(kept.get(&key(KEPT)), None);
}

#[test]
fn nothing_is_shown_of_what_is_kept() {
    let identities = Identities::default();
    identities.plan(commands("canary")).unwrap();
    assert_eq!(format!("{identities:?}"), "Identities { .. }");
}
