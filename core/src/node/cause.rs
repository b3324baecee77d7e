//! The cause of a failure and its remedy, as a script found them. A condition reports them first.

use std::fmt;

use super::finding::Finding;

/// Why something failed, and what to do about it. Scripts print it as two lines at the end of their
/// output, `why: CAUSE` and `do: REMEDY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What is wrong, with names and numbers.
    pub why: String,
    /// What to do about it; may be empty.
    pub remedy: String,
}

impl Cause {
    /// The causes among these lines, in their order. A `do:` belongs to the `why:` before it.
    pub fn read<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<Self> {
        let mut causes: Vec<Self> = Vec::new();
        for line in lines {
            if let Some(why) = line.strip_prefix("why: ") {
                let (why, remedy) = (why.trim().to_owned(), String::new());
                causes.push(Self { why, remedy });
            } else if let (Some(remedy), Some(last)) =
                (line.strip_prefix("do: "), causes.last_mut())
            {
                remedy.trim().clone_into(&mut last.remedy);
            }
        }
        causes
    }

    /// Several in one text, each as one sentence of cause and one of remedy.
    pub fn text(causes: &[Self]) -> String {
        let sentences: Vec<String> = causes.iter().map(Self::to_string).collect();
        sentences.join(" ")
    }
}

impl From<&Finding> for Cause {
    fn from(finding: &Finding) -> Self {
        Self {
            why: finding.value.clone(),
            remedy: finding.remedy.clone(),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", sentence(&self.why))?;
        let mut remedy = self.remedy.chars();
        match remedy.next() {
            None => Ok(()),
            Some(first) => {
                let remedy = format!("{}{}", first.to_uppercase(), remedy.as_str());
                write!(f, " {}", sentence(&remedy))
            }
        }
    }
}

/// With one full stop.
fn sentence(text: &str) -> String {
    let text = text.trim_end_matches('.');
    let ends = text.ends_with(['?', '!']);
    format!("{text}{}", if ends { "" } else { "." })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_two_sentences_whatever_stops_they_had() {
        for (lines, text) in [
            (&[][..], ""),
            (&["do: nothing"][..], ""),
            (
                &["why: swap is on: /dev/sda2"][..],
                "swap is on: /dev/sda2.",
            ),
            (
                &["why: port 6443 is in use by sshd (pid 7)", "do: stop it."][..],
                "port 6443 is in use by sshd (pid 7). Stop it.",
            ),
            (
                &["why: a.", "do: b", "why: c", "do: who deletes it?"][..],
                "a. B. c. Who deletes it?",
            ),
        ] {
            let causes = Cause::read(lines.iter().copied());
            assert_eq!(Cause::text(&causes), text, "{lines:?}");
        }
    }
}
