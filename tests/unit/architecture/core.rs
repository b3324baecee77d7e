//! What decides names data, and nothing that reads, writes or waits.

use std::collections::BTreeSet;

use super::imports::paths;
use super::sources::{Source, sources};

/// What `core/` may name beside itself, with all below it: data and its rendering, nothing that reads or writes.
const ALLOWED: &[&str] = &[
    "crate::api",
    "crate::core",
    "base64",
    "core::fmt",
    "core::iter",
    "core::net",
    "core::str",
    // of crate::core, which is imported as that
    "core::Plan",
    "k8s_openapi::ByteString",
    "k8s_openapi::api",
    "k8s_openapi::apimachinery",
    "k8s_openapi::jiff",
    "kube::Resource",
    "kube::ResourceExt",
    "kube::core",
    "minijinja",
    "secrecy",
    "semver",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "serde_saphyr",
    "sha2",
    "std::cmp",
    "std::collections",
    "std::fmt",
    "std::iter",
    "std::mem",
    "std::ops",
    // a name; nothing is read there
    "std::path::PathBuf",
    "std::str",
    // of what is shared, not of what changes
    "std::sync::Arc",
    // made once, and the same ever after
    "std::sync::LazyLock",
    "std::time::Duration",
    // what is said to a gateway, as data
    "tatara_gateway_wire",
    "thiserror",
];

/// Words that no decision needs, whatever they belong to: tasks, clocks, output, and the environment.
const FORBIDDEN: &[&str] = &[
    "async",
    "await",
    "println",
    "eprintln",
    "print",
    "eprint",
    "env",
    "option_env",
    "static",
    "thread_local",
    "unsafe",
    "extern",
];

/// What a `static` may be: the parsed templates of scripts, which hold nothing that changes.
const STATIC: &str = "ENVIRONMENT";

/// What is worked out again and again is remembered here, by these means: with it or without it a decision is the same.
const MEMORY: (&str, &[&str]) = (
    "core/node/identities.rs",
    &[
        "std::sync::Mutex",
        "std::sync::MutexGuard",
        "std::sync::PoisonError",
    ],
);

/// Crates that can be named: those that we depend on, and Rust's own.
fn crates() -> BTreeSet<String> {
    let manifest = include_str!("../../../Cargo.toml");
    let dependencies = manifest.split("\n[").filter(|part| {
        let name = part.split(']').next().unwrap_or_default();
        name.ends_with("dependencies")
    });
    let names = dependencies.flat_map(|part| {
        part.lines().skip(1).filter_map(|line| {
            let (name, _) = line.split_once('=')?;
            Some(name.trim().replace('-', "_"))
        })
    });
    names
        .chain(["std", "core", "alloc", "proc_macro", "crate"].map(str::to_owned))
        .collect()
}

fn is_allowed(path: &str) -> bool {
    ALLOWED.iter().any(|allowed| {
        let rest = path.strip_prefix(allowed);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// What a file of `core/` may not name.
fn violations(source: &Source) -> Vec<String> {
    let crates = crates();
    let is_foreign = |path: &String| {
        let first = path.split("::").next().unwrap_or_default();
        crates.contains(first)
    };
    let paths = paths(source).into_iter();
    let remembers = |path: &str| source.path == MEMORY.0 && MEMORY.1.contains(&path);
    let paths = paths.filter(|path| {
        path.ends_with("::now") || is_foreign(path) && !is_allowed(path) && !remembers(path)
    });
    let words = source.tokens();
    let following = words.iter().skip(1).copied().chain([""]);
    let words = words.iter().copied().zip(following);
    let words = words
        .filter(|(word, next)| FORBIDDEN.contains(word) && (*word != "static" || *next != STATIC));
    let words = words.map(|(word, _)| word.to_owned());
    paths.chain(words).collect()
}

#[test]
fn the_core_names_data_and_nothing_that_reads_writes_or_waits() {
    let sources = sources("core");
    assert!(sources.len() > 100, "{} files found", sources.len());
    for source in &sources {
        let found = violations(source);
        assert!(found.is_empty(), "src/{}: {found:?}", source.path);
    }
}

#[test]
fn one_of_each_kind_is_seen() {
    let table = [
        ("use kube::{ResourceExt, Client};", "kube::Client"),
        (
            "use kube::{core::Selector, api::{ListParams, Patch}};",
            "kube::api::ListParams",
        ),
        ("fn a(client: kube::Client) {}", "kube::Client"),
        ("use kube as k;", "kube"),
        ("use tokio::sync::Mutex;", "tokio::sync::Mutex"),
        ("use std::sync::{Arc, Mutex};", "std::sync::Mutex"),
        ("use std::time::{Duration, Instant};", "std::time::Instant"),
        ("use std::time;", "std::time"),
        ("use std::{fmt, fs};", "std::fs"),
        ("use std::*;", "std::*"),
        ("use std::path::{Path, PathBuf};", "std::path::Path"),
        ("use crate::store::Stores;", "crate::store::Stores"),
        (
            "use super::super::super::super::manager::ManagerArgs;",
            "crate::manager::ManagerArgs",
        ),
        ("use super::super::plan; use super::host::Observed;", ""),
        ("fn a() { crate::engine::run() }", "crate::engine::run"),
        ("fn a() { tracing::warn!(\"said\") }", "tracing::warn"),
        ("fn a() { println!(\"{}\", 'a') }", "println"),
        (
            "fn a<'a>(of: &'a str) { let quote = '\\''; tokio::spawn(of) }",
            "tokio::spawn",
        ),
        (
            "const A: &str = r#\"tokio::spawn \"# ; const B: &str = \"std::fs\\\" std::fs\";",
            "",
        ),
        ("fn a() { b as std::fs::File; }", "std::fs::File"),
        ("fn a() -> Timestamp { Timestamp::now() }", "Timestamp::now"),
        ("async fn a() {}", "async"),
        ("fn a() { vec![std::env::args()]; }", "std::env::args"),
        ("static COUNT: u8 = 0;", "static"),
        (
            "/// as tokio::spawn does\nfn a() -> &'static str { \"std::fs\" } // std::fs",
            "",
        ),
        ("#[cfg(test)]\nmod tests { use std::fs; }\nfn a() {}", ""),
        (
            "#[cfg(test)]\n#[path = \"a_tests.rs\"]\nmod tests;\nuse std::fs;",
            "std::fs",
        ),
        (
            "pub(in crate::core) fn a(of: &Vec<serde_json::Value>) { self::b() }",
            "",
        ),
    ];
    for (text, expected) in table {
        let path = "core/host/plan/power.rs".to_owned();
        let text = text.to_owned();
        let source = Source { path, text };
        let found = violations(&source);
        let is_seen = found.iter().any(|found| found == expected);
        assert!(
            is_seen || (expected.is_empty() && found.is_empty()),
            "{}: {found:?}",
            source.text
        );
    }
}
