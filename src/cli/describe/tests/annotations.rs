//! What `-o wide` adds: the annotations of a tree, and those that a person may set.

use insta::assert_snapshot;
use kube::ResourceExt;
use kube::runtime::watcher::Event;

use super::fixture::{Fixture, ready, rolling};
use super::{UTF8, now};
use crate::cli::describe::Output;
use crate::cli::describe::annotations::{present, settable};
use crate::cli::describe::details::details;
use crate::cli::describe::kind::Kind;
use crate::cli::describe::snapshot::Objects;
use tatara_core::api::names::{
    ANNOTATION_HOST, ANNOTATION_MAX_REPLICAS, ANNOTATION_MOVES_TO, ANNOTATION_PAUSED,
    ANNOTATION_RESTARTED_AT, ANNOTATION_RETRY, ANNOTATION_SETTINGS, HOOK_PRE_DRAIN,
};

fn annotate<K: ResourceExt + Clone>(
    objects: &mut Objects<K>,
    name: &str,
    annotations: &[(&str, &str)],
) {
    let mut object = objects.get(name).expect("an object").clone();
    let all = annotations.iter();
    let all = all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    object.annotations_mut().extend(all);
    objects.take(Event::Apply(object));
}

fn wide(fixture: &Fixture) -> String {
    let sections = [
        present(&fixture.snapshot, UTF8),
        settable(&fixture.snapshot, UTF8),
    ];
    sections.map(|lines| lines.join("\n")).join("\n--\n")
}

#[test]
fn a_machine_shows_what_steers_it_and_what_is_around_it() {
    let mut fixture = ready();
    let hook = format!("{HOOK_PRE_DRAIN}/backup");
    let settings =
        r#"{"clusterConfiguration":{"apiServer":{"extraArgs":[{"name":"v","value":"2"}]}}}"#;
    annotate(
        &mut fixture.snapshot.machines,
        "web-1",
        &[
            (ANNOTATION_HOST, "c"),
            (ANNOTATION_RETRY, "1\u{1b}[2J"),
            (ANNOTATION_SETTINGS, settings),
            (&hook, "velero"),
            ("example.org/note", "of no interest"),
        ],
    );
    annotate(
        &mut fixture.snapshot.machines,
        "web-0",
        &[(ANNOTATION_HOST, "b")],
    );
    annotate(
        &mut fixture.snapshot.hosts,
        "c",
        &[(ANNOTATION_PAUSED, "true")],
    );
    annotate(
        &mut fixture.snapshot.clusters,
        "demo",
        &[(ANNOTATION_SETTINGS, "{}")],
    );
    assert_snapshot!(wide(&fixture.of(Kind::Machine, "web-1")));
}

#[test]
fn a_deployment_shows_those_of_its_template_and_none_that_are_for_others() {
    let mut fixture = rolling();
    let restarted = (ANNOTATION_RESTARTED_AT, "2026-11-21T11:58:00Z");
    let deployments = &mut fixture.snapshot.deployments;
    let mut deployment = deployments.get("web").expect("one").clone();
    let template = &mut deployment.spec.template.metadata.annotations;
    template.insert(restarted.0.to_owned(), restarted.1.to_owned());
    // for the Machines, which do not get it either
    template.insert(ANNOTATION_PAUSED.to_owned(), String::new());
    deployments.take(Event::Apply(deployment));
    annotate(&mut fixture.snapshot.sets, "web-6f", &[restarted]);
    annotate(
        &mut fixture.snapshot.sets,
        "web",
        &[
            (ANNOTATION_MOVES_TO, "set-web-6f"),
            (ANNOTATION_MAX_REPLICAS, "3"),
        ],
    );
    assert_snapshot!(wide(&fixture.of(Kind::MachineDeployment, "web")));
}

#[test]
fn each_kind_says_what_may_be_set_on_it() {
    let mut all = Vec::new();
    let mut fixture = ready();
    for (kind, name) in [
        (Kind::Cluster, "demo"),
        (Kind::Host, "b"),
        (Kind::MachineSet, "web"),
        (Kind::MachineClass, "small"),
        (Kind::Hypervisor, "rack-1"),
    ] {
        fixture = fixture.of(kind, name);
        all.push(format!("{kind}:"));
        all.extend(settable(&fixture.snapshot, UTF8));
    }
    assert_snapshot!(all.join("\n"));
}

#[test]
fn only_wide_output_has_annotations() {
    let fixture = ready().of(Kind::Machine, "web-1");
    for (output, expected) in [(None, false), (Some(Output::Wide), true)] {
        let lines = details(&fixture.snapshot, &[], output, now(), UTF8);
        let has = lines.iter().any(|line| line == "annotations to set:");
        assert_eq!(has, expected, "{lines:?}");
    }
}
