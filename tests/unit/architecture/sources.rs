//! The source files, as words and signs: comments are none, strings are left out.

use std::path::Path;

/// A source file.
pub struct Source {
    /// Below `src/`, such as `core/host/plan/mod.rs`.
    pub path: String,
    /// What stands in it.
    pub text: String,
}

impl Source {
    /// Its module, such as `["core", "host", "plan"]`.
    pub fn module(&self) -> Vec<&str> {
        let mut names: Vec<&str> = names(&self.path).collect();
        names.pop();
        if matches!(names.last(), Some(&"mod" | &"lib" | &"main")) {
            names.pop();
        }
        names
    }

    /// Its words and signs, without what is compiled for tests only.
    pub fn tokens(&self) -> Vec<&str> {
        without_tests(&tokens(&self.text))
    }
}

/// Every source file below a folder of `src/`, files of tests apart.
pub fn sources(folder: &str) -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(src.join(folder)).expect("a folder") {
        let entry = entry.expect("an entry");
        let path = format!("{folder}/{}", entry.file_name().display());
        let path = path.trim_start_matches('/').to_owned();
        if entry.path().is_dir() {
            found.extend(sources(&path));
        } else if names(&path).last() == Some("rs")
            && !names(&path).any(|name| name.ends_with("tests"))
        {
            let text = std::fs::read_to_string(entry.path()).expect("text");
            found.push(Source { path, text });
        }
    }
    found
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', '.']).filter(|name| !name.is_empty())
}

/// Words, `::`, and every other sign by itself. Comments, strings, characters and lifetimes are none.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = string(rest) {
            length
        } else if first == '\'' {
            character(rest)
        } else if is_name(first) {
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            found.push(&rest[..length]);
            length
        } else {
            let length = if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            found.push(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    found
}

/// Length of the string that stands here, whatever its prefix.
fn string(text: &str) -> Option<usize> {
    let prefix = text.find(|c| !matches!(c, 'b' | 'c' | 'r'))?;
    let hashes = text[prefix..].len() - text[prefix..].trim_start_matches('#').len();
    let open = prefix + hashes;
    if prefix > 2 || !text[open..].starts_with('"') || (hashes > 0 && !text[..prefix].contains('r'))
    {
        return None;
    }
    let inside = &text[open + 1..];
    if text[..prefix].contains('r') {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(open + 1 + inside.find(&end)? + end.len());
    }
    let mut is_escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            '"' if !is_escaped => return Some(open + 1 + at + 1),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    None
}

/// Length of the character, or of the lifetime, that stands here.
fn character(text: &str) -> usize {
    let inside = &text[1..];
    let first = inside.chars().next().map_or(0, char::len_utf8);
    if inside.starts_with('\\') {
        let end = inside[2..].find('\'').map_or(inside.len(), |end| end + 3);
        1 + end
    } else if inside[first..].starts_with('\'') {
        1 + first + 1
    } else {
        let end = inside.find(|c: char| !c.is_alphanumeric() && c != '_');
        1 + end.unwrap_or(inside.len())
    }
}

/// Leaves out every item under `#[cfg(test)]`.
fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].starts_with(&MARK) {
            at += MARK.len();
            let mut depth = 0;
            while let Some(token) = tokens.get(at) {
                at += 1;
                match *token {
                    "{" | "(" | "[" => depth += 1,
                    "}" if depth == 1 => break,
                    "}" | ")" | "]" => depth -= 1,
                    ";" if depth == 0 => break,
                    _ => {}
                }
            }
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}
