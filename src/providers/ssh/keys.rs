//! Generates SSH keys.

use russh::keys::PrivateKey;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::Ed25519Keypair;
use secrecy::zeroize::Zeroizing;

/// A new ed25519 key pair: the private key in OpenSSH's format, and the public key.
///
/// # Errors
/// The key cannot be generated.
pub fn pair(comment: &str) -> Result<(String, String), String> {
    let failed = |error: &dyn std::fmt::Display| format!("failed to generate an SSH key: {error}");
    let mut seed = Zeroizing::new([0; 32]);
    let random = rustls::crypto::ring::default_provider().secure_random;
    random
        .fill(seed.as_mut())
        .map_err(|_| failed(&"the operating system provides no random numbers"))?;
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
