//! YAML that others wrote. An alias costs who reads it as much as the text that it stands for, so
//! that a few hundred bytes can become gigabytes: what is read has limits, aliases followed.

use serde::de::DeserializeOwned;
use serde_saphyr::Options;

/// What a text may have. Tatara's readers of one text at a time share the memory of one manager.
pub struct Limits {
    /// Bytes.
    pub bytes: usize,
    /// Bytes of all keys and values, each alias as what it stands for.
    pub scalars: usize,
    /// Keys, values, lists and maps, each alias as what it stands for. As a value that is decoded,
    /// a map of one takes 700 bytes.
    pub nodes: usize,
    /// Aliases.
    pub aliases: usize,
    /// Whether `0644` is an octal number (a file's mode), as for kubectl.
    pub octal: bool,
}

/// A document that a program keeps for itself, such as kubeadm's of a cluster or a kubeconfig. They
/// have 2 to 20 KiB, and no alias.
pub const RECORD: Limits = Limits {
    bytes: 256 << 10,
    scalars: 512 << 10,
    nodes: 20_000,
    aliases: 64,
    octal: false,
};

/// A stream of manifests. A ConfigMap has at most 1 MiB; definitions of kinds, the densest of what
/// people apply, have 12 bytes to a node.
pub const MANIFESTS: Limits = Limits {
    bytes: 2 << 20,
    scalars: 4 << 20,
    nodes: 150_000,
    aliases: 1_000,
    octal: true,
};

impl Limits {
    /// Reads every document of a text, with the booleans of YAML 1.1.
    ///
    /// # Errors
    /// What is wrong with it, or which limit it exceeds.
    pub fn read<T: DeserializeOwned>(&self, text: &str) -> Result<Vec<T>, String> {
        self.check(text)?;
        let read = serde_saphyr::from_multiple_with_options(text, self.options());
        read.map_err(|error| error.to_string())
    }

    /// Reads a text of one document.
    ///
    /// # Errors
    /// As those of [`Limits::read`].
    pub fn read_one<T: DeserializeOwned>(&self, text: &str) -> Result<T, String> {
        self.check(text)?;
        let read = serde_saphyr::from_str_with_options(text, self.options());
        read.map_err(|error| error.to_string())
    }

    /// Reads a text of one document, whose words are not ours to tell.
    ///
    /// # Errors
    /// Which line is wrong, or which limit it exceeds.
    pub fn read_private<T: DeserializeOwned>(&self, text: &str) -> Result<T, String> {
        self.check(text)?;
        let read = serde_saphyr::from_str_with_options(text, self.options());
        read.map_err(|error| private(&error, "", "not YAML"))
    }

    /// Reads every document of a text, whose words are not ours to tell.
    ///
    /// # Errors
    /// As those of [`Limits::read_private`]; also of YAML that is not what is read.
    pub fn read_all_private<T: DeserializeOwned>(&self, text: &str) -> Result<Vec<T>, String> {
        let what = "not YAML, or has another kind of value than belongs there";
        self.check(text)?;
        let read = serde_saphyr::from_multiple_with_options(text, self.options());
        // of a value of another kind the line may be that of the object around it
        read.map_err(|error| private(&error, "what begins in ", what))
    }

    fn check(&self, text: &str) -> Result<(), String> {
        if text.len() > self.bytes {
            return Err(format!(
                "it has {} bytes, and at most {} are read",
                text.len(),
                self.bytes
            ));
        }
        Ok(())
    }

    fn options(&self) -> Options {
        serde_saphyr::options! {
            legacy_octal_numbers: self.octal,
            with_snippet: false,
            budget: serde_saphyr::budget! {
                max_events: 2 * self.nodes,
                max_nodes: self.nodes,
                max_total_scalar_bytes: self.scalars,
                max_aliases: self.aliases,
                max_anchors: self.aliases,
                max_merge_keys: self.aliases,
                max_recorded_anchor_events: self.nodes,
                max_recorded_anchor_bytes: self.scalars,
            },
            alias_limits: serde_saphyr::alias_limits! {
                max_total_replayed_events: self.nodes,
            },
        }
    }
}

/// An error without words of the document: where it is (`at` is before the line), and that this is
/// there.
fn private(error: &serde_saphyr::Error, at: &str, what: &str) -> String {
    use serde_saphyr::Error::{
        AliasError, AliasExpansionLimitExceeded, AliasReplayLimitExceeded,
        AliasReplayStackDepthExceeded, Budget,
    };
    let place = error.location().map_or_else(
        || "it".to_owned(),
        |location| format!("{at}line {}", location.line()),
    );
    match error {
        Budget { .. } => error.to_string(),
        // of what it stands for, a limit too; the text may have words of the document
        AliasError { .. }
        | AliasExpansionLimitExceeded { .. }
        | AliasReplayLimitExceeded { .. }
        | AliasReplayStackDepthExceeded { .. } => {
            format!("{place} has an alias that stands for too much, or for what is {what}")
        }
        _ => format!("{place} is {what}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::Value;

    use super::*;

    fn refused(limits: &Limits, text: &str) -> String {
        limits.read::<Value>(text).expect_err("too much")
    }

    #[test]
    fn aliases_of_a_long_text_are_not_followed_for_ever() {
        let mut text = format!("a: &a {}\nb:\n", "x".repeat(100 << 10));
        for _ in 0..60 {
            text += "- *a\n";
        }
        let why = refused(&RECORD, &text);
        assert!(why.contains("scalar"), "{why}");
        let why = RECORD.read_one::<Value>(&text).expect_err("too much");
        assert!(why.contains("scalar"), "{why}");
        let why = refused(&MANIFESTS, &text);
        assert!(why.contains("scalar"), "{why}");
    }

    #[test]
    fn aliases_of_aliases_are_not_followed_for_ever() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let one = format!("*a{}", level - 1);
            let ten = vec![one; 10].join(", ");
            writeln!(text, "a{level}: &a{level} [{ten}]").expect("a text");
        }
        for limits in [RECORD, MANIFESTS] {
            refused(&limits, &text);
        }
    }

    #[test]
    fn a_text_of_many_small_values_or_of_many_bytes_is_refused() {
        let maps = "- {a: b}\n".repeat(MANIFESTS.nodes / 3);
        let why = refused(&MANIFESTS, &maps);
        assert!(why.contains("node"), "{why}");
        let why = refused(&RECORD, &"# \n".repeat(100 << 10));
        assert_eq!(why, "it has 307200 bytes, and at most 262144 are read");
    }

    #[test]
    fn what_kubectl_reads_is_read_with_a_few_aliases() {
        let text =
            "a: &a {mode: 0644, on: 'yes', off: yes}\nb: *a\nc: {<<: *a, mode: 1}\n---\n[1]\n";
        let read = MANIFESTS.read::<Value>(text).expect("YAML");
        assert_eq!(read[0]["b"]["mode"], 0o644);
        assert_eq!(read[0]["b"]["off"], true);
        assert_eq!(read[0]["c"]["on"], "yes");
        assert_eq!(read.len(), 2);
    }
}
