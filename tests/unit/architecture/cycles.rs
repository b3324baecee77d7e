//! Which part of the source tree names which: no way leads back to where it came from.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::paths;
use super::sources::{Source, all};

/// The files in which one module names another, by both.
type Names = BTreeMap<(String, String), BTreeSet<String>>;

/// Modules whose own modules, by folder or file, name each other in no circle.
const WITHOUT: &[&str] = &[
    "tatara",
    "tatara::cli",
    "tatara::controllers",
    "tatara::engine",
    "tatara::providers",
    "tatara::remote",
    "tatara::store",
    "tatara_core",
    "tatara_core::machine::plan",
    "tatara_core::machine::plan::stage",
];

/// What a module that is directly below another one is called there.
fn below<'a>(path: &'a str, module: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(module)?.strip_prefix("::")?;
    rest.split("::").next()
}

/// What the modules directly below `module` name of each other.
fn names(sources: &[Source], module: &str) -> Names {
    let mut found = Names::new();
    for source in sources {
        let here = source.module().join("::");
        let Some(from) = below(&here, module) else {
            continue;
        };
        for path in paths(source) {
            let Some(to) = below(&path, module).filter(|to| *to != from) else {
                continue;
            };
            let files = found.entry((from.to_owned(), to.to_owned())).or_default();
            files.insert(source.path.clone());
        }
    }
    found
}

/// Whether a way leads from one module to another.
fn leads(names: &Names, from: &str, to: &str) -> bool {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(at) = left.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            let next = names.keys().filter(|(of, _)| of == at);
            left.extend(next.map(|(_, next)| next.as_str()));
        }
    }
    false
}

/// The steps of all circles, with the files that take them.
fn circles(names: &Names) -> Vec<String> {
    let back = names
        .iter()
        .filter(|((from, to), _)| leads(names, to, from));
    back.map(|((from, to), files)| {
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        format!("{from} names {to}: {}", files.join(", "))
    })
    .collect()
}

#[test]
fn modules_name_each_other_in_no_circle() {
    let sources = all();
    for module in WITHOUT {
        let names = names(&sources, module);
        assert!(!names.is_empty(), "nothing is read of {module}");
        let circles = circles(&names);
        assert!(circles.is_empty(), "{module}:\n{}", circles.join("\n"));
    }
}

#[test]
fn only_the_command_line_names_the_manager() {
    let names = names(&all(), "tatara");
    let of = names.iter().filter(|((_, to), _)| to == "manager");
    let others = of.filter(|((from, _), _)| from != "cli");
    let others: Vec<_> = others.map(|(_, files)| files).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_circle_is_seen_with_the_files_that_make_it() {
    type Files = &'static [(&'static str, &'static str)];
    let table: [(&str, Files, &[&str]); 6] = [
        (
            "one direction",
            &[
                ("a/mod.rs", "use crate::b::B;"),
                ("b/mod.rs", "use crate::c;"),
            ],
            &[],
        ),
        (
            "two that name each other",
            &[
                ("a/x.rs", "use crate::b::B;"),
                ("b.rs", "fn a() { crate::a::a() }"),
            ],
            &["a names b: a/x.rs", "b names a: b.rs"],
        ),
        (
            "over a third, and one that is outside",
            &[
                ("a/x.rs", "use crate::{b::B, d};"),
                ("a/y.rs", "use crate::b;"),
                ("b/mod.rs", "use super::c::C;"),
                ("c/deep/mod.rs", "use super::super::a::A;"),
                ("e.rs", "use crate::a;"),
            ],
            &[
                "a names b: a/x.rs, a/y.rs",
                "b names c: b/mod.rs",
                "c names a: c/deep/mod.rs",
            ],
        ),
        (
            "within itself",
            &[("a/x.rs", "use super::y::Y;"), ("a/y.rs", "use super::x;")],
            &[],
        ),
        (
            "tests, comments and strings are no imports",
            &[
                ("a.rs", "use crate::b;"),
                (
                    "b.rs",
                    "// crate::a::A\n#[cfg(test)]\nmod tests { use crate::a; }\nconst A: &str = \"crate::a::A\";",
                ),
            ],
            &[],
        ),
        (
            "another crate of the same name",
            &[("a.rs", "use crate::b;"), ("b.rs", "use a::A;")],
            &[],
        ),
    ];
    for (case, files, expected) in table {
        let sources: Vec<Source> = files
            .iter()
            .map(|(path, text)| Source {
                krate: "tatara",
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        assert_eq!(circles(&names(&sources, "tatara")), expected, "{case}");
    }
}
