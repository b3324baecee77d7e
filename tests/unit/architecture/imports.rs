//! What a source file names: paths in `use` and in code.

use std::collections::BTreeSet;

use super::sources::Source;

/// All that a file names with `::`, or imports, absolute: with the name of its crate, or of another.
pub fn paths(source: &Source) -> BTreeSet<String> {
    let tokens = source.tokens();
    let tokens: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let mut found = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_use = tokens[at] == "use";
        if is_use {
            at += 1;
        }
        if at < tokens.len()
            && (is_use || (is_name(tokens[at]) && tokens.get(at + 1) == Some(&"::")))
        {
            at = tree(&tokens, at, "", &mut found);
        } else {
            at += 1;
        }
    }
    let module = source.module();
    found.iter().map(|path| absolute(path, &module)).collect()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Takes `a::b`, `a::*` and `a::{b, c::d}` apart; returns where it ends.
fn tree(tokens: &[&str], at: usize, base: &str, found: &mut BTreeSet<String>) -> usize {
    if tokens[at] == "{" {
        let mut at = at + 1;
        while let Some(token) = tokens.get(at).copied() {
            at = match token {
                "}" => return at + 1,
                "," => at + 1,
                // another name for it
                "as" => at + 2,
                _ => tree(tokens, at, base, found),
            };
        }
        return at;
    }
    if !is_name(tokens[at]) && tokens[at] != "*" {
        return at + 1;
    }
    let path = match base {
        "" => tokens[at].to_owned(),
        base => format!("{base}::{}", tokens[at]),
    };
    // of `Vec::<T>`, what it holds is read by itself
    let goes_on = |token: &&str| is_name(token) || matches!(*token, "{" | "*");
    if tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(goes_on) {
        return tree(tokens, at + 2, &path, found);
    }
    found.insert(path);
    at + 1
}

/// `crate`, `super` and `self` as they are called from outside.
fn absolute(path: &str, module: &[&str]) -> String {
    let mut names: Vec<&str> = path.split("::").collect();
    if names[0] == "crate" {
        names[0] = module[0];
        return names.join("::");
    }
    if !matches!(names[0], "super" | "self") {
        return path.to_owned();
    }
    let mut base: Vec<&str> = module.to_vec();
    while matches!(names.first(), Some(&"super" | &"self")) {
        if names.remove(0) == "super" {
            base.pop();
        }
    }
    [base, names].concat().join("::")
}
