//! What others wrote passes one function before a terminal.

use super::sources::{Source, sources};

/// These print only what is Tatara's own, or lines that `describe/render.rs` and `describe/changes.rs` made printable.
const OWN_TEXT: [&str; 4] = [
    "cli/completion.rs",
    "cli/crds/mod.rs",
    "cli/describe/display.rs",
    "cli/describe/terminal.rs",
];

#[test]
fn each_file_that_writes_to_a_terminal_makes_its_text_printable() {
    let prints = |source: &Source| {
        let tokens = source.tokens();
        tokens
            .iter()
            .any(|token| matches!(token.as_str(), "stdout" | "println" | "eprintln"))
            .then(|| makes_printable(&tokens))
    };
    let mut files = sources("tatara", "cli");
    files.extend(
        sources("tatara", "")
            .into_iter()
            .filter(|source| source.path == "main.rs"),
    );
    let mut raw = Vec::new();
    for source in &files {
        if prints(source) == Some(false) {
            raw.push(source.path.as_str());
        }
    }
    raw.sort_unstable();
    assert_eq!(raw, OWN_TEXT);
    let makes = ["cli/describe/changes.rs", "cli/describe/render.rs"];
    for path in makes {
        let source = files.iter().find(|source| source.path == path).expect(path);
        assert!(makes_printable(&source.tokens()), "{path}");
    }
}

fn makes_printable(tokens: &[String]) -> bool {
    tokens.iter().any(|token| token == "printable")
}
