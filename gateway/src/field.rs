//! Fields of requests that make no sense, whatever the hypervisor is.

/// A field makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct BadField {
    /// Path of the field.
    pub field: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

/// Result of a check.
pub type Result = std::result::Result<(), BadField>;

/// A field that makes no sense.
pub fn bad(field: impl Into<String>, problem: impl Into<String>) -> BadField {
    BadField {
        field: field.into(),
        problem: problem.into(),
    }
}

/// Refuses what is no SHA-256 in lower-case hexadecimal digits.
pub fn sha256(field: &str, value: &str) -> Result {
    let digits = value
        .bytes()
        .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if digits && value.len() == 64 {
        return Ok(());
    }
    Err(bad(
        field,
        "is not a SHA-256; it must be 64 lower-case hexadecimal digits",
    ))
}

/// Refuses a name of a pool, network or bridge that libvirt could not have.
pub fn reference(field: &str, value: &str) -> Result {
    let fits = |c: char| !c.is_control() && c != '/' && c != '\u{fffe}' && c != '\u{ffff}';
    word(
        field,
        value,
        255,
        "characters without / and control characters",
        fits,
    )
}

/// Refuses what is no name in the manner of host names.
pub fn name(field: &str, value: &str, longest: usize) -> Result {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    word(field, value, longest, "[a-z0-9-]", fits)
}

/// Refuses what is empty, too long, or has other characters.
pub fn word(
    field: &str,
    value: &str,
    longest: usize,
    of: &str,
    fits: impl Fn(char) -> bool,
) -> Result {
    if !value.is_empty() && value.len() <= longest && value.chars().all(fits) {
        return Ok(());
    }
    Err(bad(
        field,
        format!("is invalid; it must be 1 to {longest} of {of}"),
    ))
}

/// Refuses a number outside of its range.
pub fn between(field: &str, value: u64, least: u64, most: u64) -> Result {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(bad(
        field,
        format!("{value} is out of range; it must be {least} to {most}"),
    ))
}

/// Refuses a list that is too long.
pub fn at_most(field: &str, count: usize, most: usize) -> Result {
    if count <= most {
        return Ok(());
    }
    Err(bad(
        field,
        format!("has {count} entries; at most {most} are allowed"),
    ))
}
