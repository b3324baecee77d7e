//! Checks of request fields that do not depend on the hypervisor.

/// A field is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct BadField {
    /// Path of the field.
    pub field: String,
    /// What is wrong, and what is expected.
    pub problem: String,
}

/// Result of a check.
pub type Result = std::result::Result<(), BadField>;

/// The error of an invalid field.
pub fn bad(field: impl Into<String>, problem: impl Into<String>) -> BadField {
    BadField {
        field: field.into(),
        problem: problem.into(),
    }
}

/// Requires a SHA-256 in lower-case hexadecimal digits.
///
/// # Errors
/// [`BadField`] when the value does not have exactly 64 such digits.
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

/// Requires a possible libvirt name of a pool, network or bridge.
///
/// # Errors
/// [`BadField`] when the value is empty, exceeds 255 bytes, or contains `/` or a control character.
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

/// Requires the characters of a host name label.
///
/// # Errors
/// [`BadField`] when the value is empty, exceeds `longest` bytes, or does not match `[a-z0-9-]`.
pub fn name(field: &str, value: &str, longest: usize) -> Result {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    word(field, value, longest, "[a-z0-9-]", fits)
}

/// Requires a length of 1 to `longest` and the characters accepted by `fits`; `of` describes them
/// in the message.
///
/// # Errors
/// [`BadField`] when the value is empty, exceeds `longest` bytes, or has a character that `fits`
/// rejects.
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

/// Requires a number in a range.
///
/// # Errors
/// [`BadField`] when the value is less than `least` or greater than `most`.
pub fn between(field: &str, value: u64, least: u64, most: u64) -> Result {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(bad(
        field,
        format!("{value} is out of range; it must be {least} to {most}"),
    ))
}

/// Requires a list length of at most `most`.
///
/// # Errors
/// [`BadField`] when `count` exceeds `most`.
pub fn at_most(field: &str, count: usize, most: usize) -> Result {
    if count <= most {
        return Ok(());
    }
    Err(bad(
        field,
        format!("has {count} entries; at most {most} are allowed"),
    ))
}
