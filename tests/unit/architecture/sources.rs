//! The source files, as words and signs: comments are none, numbers are left out, strings have readers of their own.

use std::path::Path;
use std::str::FromStr as _;

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The crates of the manager: their names, and where their sources are.
const CRATES: [(&str, &str); 3] = [
    ("tatara", "src"),
    ("tatara_core", "core/src"),
    ("tatara_redfish", "redfish/src"),
];

/// A source file.
pub struct Source {
    /// The crate that it is of, as Rust names it.
    pub krate: &'static str,
    /// Below the sources of that crate, such as `host/plan/mod.rs`.
    pub path: String,
    /// What stands in it.
    pub text: String,
}

impl Source {
    /// Its module, with its crate, such as `["tatara_core", "host", "plan"]`.
    pub fn module(&self) -> Vec<&str> {
        let mut found = vec![self.krate];
        found.extend(names(&self.path));
        found.pop();
        if matches!(found.last(), Some(&"mod" | &"lib" | &"main")) {
            found.pop();
        }
        found
    }

    /// Its words and signs, without what is compiled for tests only.
    pub fn tokens(&self) -> Vec<String> {
        let mut tokens = self.with_strings();
        tokens.retain(|token| !is_string(token));
        tokens
    }

    /// Its strings as they stand in it, without what is compiled for tests only.
    pub fn strings(&self) -> Vec<String> {
        let mut tokens = self.with_strings();
        tokens.retain(|token| is_string(token));
        tokens
    }

    fn with_strings(&self) -> Vec<String> {
        let stream = TokenStream::from_str(&self.text);
        let mut found = Vec::new();
        flatten(stream.expect(&self.path), &mut found);
        without_tests(&found)
    }
}

/// Every source file of all crates, files of tests apart.
pub fn all() -> Vec<Source> {
    let all = CRATES.iter().flat_map(|(krate, _)| sources(krate, ""));
    all.collect()
}

/// Every source file of a crate below a folder, files of tests apart.
pub fn sources(krate: &str, folder: &str) -> Vec<Source> {
    let found = CRATES.iter().find(|(name, _)| *name == krate);
    let (krate, src) = found.expect("a crate of ours");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(src);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
        let entry = entry.expect("an entry");
        let path = format!("{folder}/{}", entry.file_name().display());
        let path = path.trim_start_matches('/').to_owned();
        if entry.path().is_dir() {
            found.extend(sources(krate, &path));
        } else if names(&path).last() == Some("rs")
            && !names(&path).any(|name| name.ends_with("tests"))
        {
            let text = std::fs::read_to_string(entry.path()).expect("text");
            found.push(Source { krate, path, text });
        }
    }
    found
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '.']).filter(|name| !name.is_empty())
}

fn is_string(token: &str) -> bool {
    token.ends_with(['"', '#']) && token.len() > 1
}

/// A comment of documentation, which a parser takes for an attribute.
fn is_doc(group: &Group) -> bool {
    let first = group.stream().into_iter().next();
    matches!(first, Some(TokenTree::Ident(word)) if word == "doc")
}

/// Words, `::`, strings, and every other sign by itself. A lifetime is none.
fn flatten(stream: TokenStream, found: &mut Vec<String>) {
    let mut tokens = stream.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) if is_doc(&group) => {}
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                found.push(open.to_owned());
                flatten(group.stream(), found);
                found.push(close.to_owned());
            }
            TokenTree::Ident(word) => found.push(word.to_string()),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if is_string(&text) {
                    found.push(text);
                }
            }
            TokenTree::Punct(sign) if sign.as_char() == '\'' => drop(tokens.next()),
            TokenTree::Punct(sign) => {
                let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(next) if next.as_char() == ':');
                if sign.as_char() == ':'
                    && sign.spacing() == Spacing::Joint
                    && tokens.next_if(is_colon).is_some()
                {
                    found.push("::".to_owned());
                } else {
                    found.push(sign.to_string());
                }
            }
        }
    }
}

/// Leaves out every item under `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = tokens[at..].iter().zip(MARK);
        if tokens.len() - at >= MARK.len() && begins.into_iter().all(|(token, mark)| token == mark)
        {
            at += MARK.len();
            let mut depth = 0;
            while let Some(token) = tokens.get(at) {
                at += 1;
                match token.as_str() {
                    "{" | "(" | "[" => depth += 1,
                    "}" if depth == 1 => break,
                    "}" | ")" | "]" => depth -= 1,
                    ";" if depth == 0 => break,
                    _ => {}
                }
            }
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}
