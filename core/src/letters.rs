//! Letters and digits for parts of names.

/// Letters and digits that make no words and are not mistaken for each other.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// So many letters that stand for a digest, or for random bytes.
pub fn letters(bytes: &[u8], count: usize) -> String {
    let letters = bytes.iter().take(count);
    letters
        .map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]))
        .collect()
}
