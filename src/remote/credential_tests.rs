//! What is read, what is refused and why. Every format that ssh-keygen writes is tried in
//! tests/api/ssh.

use russh::keys::ssh_key::private::{
    EcdsaKeypair, EcdsaPrivateKey, Ed25519Keypair, RsaKeypair, RsaPrivateKey,
};
use russh::keys::ssh_key::{Cipher, Kdf, LineEnding, Mpint};
use russh::keys::{EcdsaCurve, PrivateKey};

use super::*;

fn key() -> PrivateKey {
    let pair = Ed25519Keypair::from_seed(&[7; 32]);
    PrivateKey::new(KeypairData::Ed25519(pair), "someone").unwrap()
}

fn pem(key: &PrivateKey) -> Vec<u8> {
    key.to_openssh(LineEnding::LF).unwrap().as_bytes().to_vec()
}

fn encrypted(passphrase: &str) -> Vec<u8> {
    let kdf = Kdf::Bcrypt {
        salt: vec![1; 16],
        rounds: 1,
    };
    pem(&key()
        .encrypt_with(Cipher::Aes256Ctr, kdf, 5, passphrase)
        .unwrap())
}

fn refusal(pem: &[u8], passphrase: Option<&[u8]>) -> CredentialError {
    Credential::parse(pem, passphrase).unwrap_err()
}

#[test]
fn a_plain_key_is_read_and_an_idle_passphrase_is_ignored() {
    for passphrase in [None, Some(&b"idle"[..])] {
        let credential = Credential::parse(&pem(&key()), passphrase).unwrap();
        assert_eq!(credential.key_type(), "ssh-ed25519");
        let expected = key().public_key().fingerprint(HashAlg::Sha256).to_string();
        assert_eq!(credential.fingerprint(), expected);
    }
}

#[test]
fn a_key_with_windows_line_ends_and_blank_lines_around_is_read() {
    let text = String::from_utf8(pem(&key())).unwrap();
    let text = format!("\n{}\n\n", text.replace('\n', "\r\n"));
    assert!(Credential::parse(text.as_bytes(), None).is_ok());
}

#[test]
fn an_encrypted_key_opens_with_its_passphrase_and_a_line_end_after_it() {
    for passphrase in [&b"geheim"[..], b"geheim\n", b"geheim\r\n"] {
        assert!(Credential::parse(&encrypted("geheim"), Some(passphrase)).is_ok());
    }
}

#[test]
fn an_encrypted_key_without_passphrase_says_which_key_of_the_secret_is_missing() {
    let error = refusal(&encrypted("geheim"), None);
    assert_eq!(error, CredentialError::PassphraseRequired);
    assert!(error.to_string().contains("as key passphrase"), "{error}");
}

#[test]
fn a_wrong_passphrase_is_told_apart() {
    assert_eq!(
        refusal(&encrypted("geheim"), Some(b"Geheim")),
        CredentialError::WrongPassphrase
    );
    assert_eq!(
        refusal(&encrypted("geheim"), Some(b"\xff")),
        CredentialError::WrongPassphrase
    );
}

#[test]
fn what_is_not_a_private_key_says_what_it_is() {
    let detail = |pem: &[u8]| match refusal(pem, None) {
        CredentialError::NotAPrivateKey { detail } => detail,
        other => panic!("{other:?}"),
    };
    let public = key().public_key().to_openssh().unwrap();
    assert_eq!(detail(public.as_bytes()), "it is a public key");
    assert_eq!(detail(b" \n"), "it is empty");
    assert_eq!(detail(b"\xff\xfe"), "not text");
    assert_eq!(
        detail(b"hunter2"),
        "it has no line -----BEGIN \u{2026} PRIVATE KEY-----"
    );
    let damaged = String::from_utf8(pem(&key()))
        .unwrap()
        .replace("AAAA", "AAAB");
    assert_eq!(detail(damaged.as_bytes()), "it is damaged");
}

#[test]
fn unsupported_kinds_are_named() {
    let found = |pem: &str| match refusal(pem.as_bytes(), None) {
        CredentialError::UnsupportedType { found } => found,
        other => panic!("{other:?}"),
    };
    assert_eq!(found("PuTTY-User-Key-File-3: ssh-ed25519\n"), "PuTTY");
    assert_eq!(found("-----BEGIN DSA PRIVATE KEY-----\nAAAA\n"), "ssh-dss");
    let old =
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: DES-EDE3-CBC,00\n";
    assert_eq!(found(old), "PEM with DES-EDE3-CBC");
}

#[test]
fn debug_shows_type_and_fingerprint_only() {
    let credential = Credential::parse(&encrypted("geheim"), Some(b"geheim")).unwrap();
    let shown = format!("{credential:?}");
    assert_eq!(
        shown,
        format!("Credential(ssh-ed25519 {})", credential.fingerprint())
    );
}

#[test]
fn no_error_repeats_what_it_was_given() {
    for error in [
        refusal(&encrypted("geheim"), Some(b"hunter2")),
        refusal(b"hunter2", None),
    ] {
        let shown = format!("{error} {error:?}");
        assert!(
            !shown.contains("hunter2") && !shown.contains("geheim"),
            "{shown}"
        );
    }
}

fn with_rounds(rounds: u32) -> Vec<u8> {
    // the header of a key, with another number in it: nobody can compute the real one
    let key = encrypted("geheim");
    let text = String::from_utf8(key).unwrap();
    let body: String = text.lines().filter(|l| !l.starts_with("-----")).collect();
    let mut bytes =
        base64::Engine::decode(&base64::engine::general_purpose::STANDARD, body).unwrap();
    let options = [&[0, 0, 0, 16][..], &[1; 16], &1_u32.to_be_bytes()].concat();
    let at = bytes
        .windows(options.len())
        .position(|w| w == options)
        .unwrap()
        + 20;
    bytes[at..at + 4].copy_from_slice(&rounds.to_be_bytes());
    let body = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes);
    let lines: Vec<_> = body
        .as_bytes()
        .chunks(70)
        .map(|l| std::str::from_utf8(l).unwrap())
        .collect();
    format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
        lines.join("\n")
    )
    .into_bytes()
}

#[test]
fn a_key_that_would_take_years_to_open_is_refused_at_once() {
    let error = refusal(&with_rounds(1 << 30), Some(b"geheim"));
    assert_eq!(error.reason().as_str(), "CredentialTooCostly");
    let said = error.to_string();
    assert!(said.contains("1073741824 bcrypt rounds"), "{said}");
    assert!(said.contains("ssh-keygen -p"), "{said}");
    assert_eq!(
        refusal(&with_rounds(1 << 30), None),
        CredentialError::PassphraseRequired
    );
    // within the bound it is tried
    assert_eq!(
        refusal(&with_rounds(2), Some(b"geheim")),
        CredentialError::WrongPassphrase
    );
    assert!(Credential::parse(&with_rounds(1), Some(b"geheim")).is_ok());
}

/// A key with the public half of `owner` and private numbers that somebody made up.
fn forged(owner: &KeypairData) -> PrivateKey {
    let data = match owner {
        KeypairData::Rsa(pair) => {
            let number = |byte, len| Mpint::from_positive_bytes(&vec![byte; len]);
            let made_up = RsaPrivateKey::new(
                number(0x71, 256),
                number(0x73, 128),
                number(0x75, 128),
                number(0x77, 128),
            );
            KeypairData::Rsa(RsaKeypair::new(pair.public().clone(), made_up.unwrap()).unwrap())
        }
        KeypairData::Ecdsa(EcdsaKeypair::NistP256 { public, .. }) => {
            KeypairData::Ecdsa(EcdsaKeypair::NistP256 {
                public: *public,
                private: EcdsaPrivateKey::from([0x11; 32]),
            })
        }
        other => panic!("{other:?}"),
    };
    PrivateKey::new(data, "forged").unwrap()
}

fn owned() -> [KeypairData; 2] {
    let mut rng = russh::keys::key::safe_rng();
    [
        KeypairData::Rsa(RsaKeypair::random(&mut rng, 2048).unwrap()),
        KeypairData::Ecdsa(EcdsaKeypair::random(&mut rng, EcdsaCurve::NistP256).unwrap()),
    ]
}

#[test]
fn a_key_with_the_public_half_of_another_is_refused_with_its_field_cause_and_remedy() {
    for owner in owned() {
        let own = PrivateKey::new(owner.clone(), "own").unwrap();
        assert!(Credential::parse(&pem(&own), None).is_ok());
        let forged = forged(&owner);
        assert_eq!(forged.public_key().key_data(), own.public_key().key_data());
        let error = refusal(&pem(&forged), None);
        assert_eq!(error, CredentialError::HalvesDiffer);
        assert_eq!(error.reason().as_str(), "CredentialMalformed");
        let said = error.to_string();
        assert!(
            said.contains("ssh-privatekey has the public half of another key"),
            "{said}"
        );
        assert!(said.contains("ssh-keygen -t ed25519"), "{said}");
    }
}

#[test]
fn the_digest_tells_private_halves_apart_and_leaves_out_the_comment() {
    let of = |key: &PrivateKey| *Credential::parse(&pem(key), None).unwrap().digest();
    let mut renamed = key();
    renamed.set_comment("another comment");
    assert_eq!(of(&key()), of(&renamed));
    let other = PrivateKey::new(
        KeypairData::Ed25519(Ed25519Keypair::from_seed(&[8; 32])),
        "",
    );
    assert_ne!(of(&key()), of(&other.unwrap()));
    for owner in owned() {
        let own = PrivateKey::new(owner.clone(), "").unwrap();
        assert_ne!(
            digest_of(&own).unwrap(),
            digest_of(&forged(&owner)).unwrap()
        );
    }
}

#[test]
fn an_rsa_key_of_absurd_length_is_refused_before_anything_is_computed_with_it() {
    let number = |len| Mpint::from_positive_bytes(&vec![0x7f; len]);
    let exponent = Mpint::from_positive_bytes(&[1, 0, 1]);
    for (modulus, prime) in [(3000, 128), (256, 3000)] {
        let public =
            russh::keys::ssh_key::public::RsaPublicKey::new(exponent.clone(), number(modulus));
        let private =
            RsaPrivateKey::new(number(256), number(128), number(prime), number(prime)).unwrap();
        let pair = RsaKeypair::new(public.unwrap(), private).unwrap();
        let key = PrivateKey::new(KeypairData::Rsa(pair), "").unwrap();
        let said = refusal(&pem(&key), None).to_string();
        assert!(said.contains("RSA of more than 8192 bits"), "{said}");
    }
}
