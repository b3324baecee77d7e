//! Keys of SSH that we make.

use russh::keys::PrivateKey;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::Ed25519Keypair;
use secrecy::zeroize::Zeroizing;

/// A new ed25519 key: private in OpenSSH's form, and public. An error says what is missing.
pub fn pair(comment: &str) -> Result<(String, String), String> {
    let failed = |error: &dyn std::fmt::Display| format!("failed to make an SSH key: {error}");
    let mut seed = Zeroizing::new([0; 32]);
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(seed.as_mut())
        .map_err(|_| failed(&"the operating system gave no random numbers"))?;
    let mut key = PrivateKey::from(Ed25519Keypair::from_seed(&seed));
    key.set_comment(comment);
    let public = key
        .public_key()
        .to_openssh()
        .map_err(|error| failed(&error))?;
    let private = key
        .to_openssh(LineEnding::LF)
        .map_err(|error| failed(&error))?;
    Ok((private.to_string(), public))
}
