//! Which keys are read, negotiated and accepted.

use std::sync::Arc;

use russh::keys::PrivateKey;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};

use super::*;
use crate::remote::Credential;

const ECDSA: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEXJOuUOsKAIzXvOZjV45O+j2bvy7OXtaKWs3kFPIs/NrjOX4evN1XOpE4vL2CxMwR2Q1I6/qspJZjIE6o6kf0M=";
const ED25519: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPnBa3fBk7sfQY/WsNFiFqerouqkdlNpXpe4SHGgkEvN";
const OTHER_ED25519: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOGJWyclSQzwr7762+z73OZ8j6CWja6o5e9wpdp61y1/";
const RSA: &str = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCXNId+ODzQgENQAoHeA3WP0p/Bg1SMgNV86T6hu8shqaCtpJUfz3YiNgXtF6uJZrsOi4HxQ1XZMtHv0J4XbyctWjOubocK7XcIBUCSQrKU2OPMA0A+XdiIHM8CkpeEuAO9O3Ud4RuA26BngwNWqr970fW5eElKPYiqWPPW3Z90128NYKfSMSDm4sLm78PfRkAxc2zbAR5KP/KtVzWT047ORBKsVfhq0p0W6ZQHwvDBt6dCkL6DCzB/uby+Ij4u4ATfBBXcylvDbBCRuhtRXYhbMXgyiXvy1dP3RFWWnHcMCB/yCQs9r+8V6MeC/oWP+ub4TlynjXGs5D503ohcGK8r";

fn hop(host_keys: &[&str]) -> Hop {
    let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[7; 32]));
    let pem = PrivateKey::new(pair, "")
        .unwrap()
        .to_openssh(LineEnding::LF)
        .unwrap();
    Hop {
        address: "10.0.0.1".into(),
        port: 22,
        user: "root".into(),
        host_keys: host_keys.iter().map(ToString::to_string).collect(),
        credential: Arc::new(Credential::parse(pem.as_bytes(), None).unwrap()),
    }
}

fn names(keys: &HostKeys) -> Vec<String> {
    keys.algorithms().iter().map(ToString::to_string).collect()
}

#[test]
fn only_algorithms_of_pinned_keys_are_offered_the_best_first() {
    let offered = |pins: &[&str]| names(&HostKeys::of(&hop(pins), false).unwrap());
    assert_eq!(offered(&[ED25519]), ["ssh-ed25519"]);
    assert_eq!(
        offered(&[ECDSA, ED25519]),
        ["ssh-ed25519", "ecdsa-sha2-nistp256"]
    );
    assert_eq!(offered(&[RSA]), ["rsa-sha2-512", "rsa-sha2-256"]);
}

#[test]
fn sha1_is_never_offered() {
    let first_contact = HostKeys::of(&hop(&[]), true).unwrap();
    assert!(!names(&first_contact).contains(&"ssh-rsa".to_string()));
    let pinned = HostKeys::of(&hop(&[RSA]), false).unwrap();
    assert!(!names(&pinned).contains(&"ssh-rsa".to_string()));
}

#[test]
fn a_pinned_key_is_accepted_whatever_its_comment_and_no_other() {
    let line = format!("  {ED25519} root@somewhere, 2nd floor \n");
    let keys = HostKeys::of(&hop(&[&line, RSA]), false).unwrap();
    let accept = |line: &str| keys.accept(&PublicKey::from_openssh(line).unwrap());
    assert!(accept(ED25519) && accept(RSA));
    assert!(!accept(OTHER_ED25519) && !accept(ECDSA));
}

#[test]
fn trust_on_first_use_never_loosens_a_pinned_key() {
    let keys = HostKeys::of(&hop(&[ED25519]), true).unwrap();
    assert!(!keys.accept(&PublicKey::from_openssh(OTHER_ED25519).unwrap()));
}

#[test]
fn no_key_is_an_error_unless_first_use_is_trusted() {
    let error = HostKeys::of(&hop(&[]), false).unwrap_err();
    assert_eq!(error.reason().as_str(), "HostKeyMissing");
    assert!(
        error.to_string().contains("trustOnFirstUse: true"),
        "{error}"
    );
    let keys = HostKeys::of(&hop(&[]), true).unwrap();
    assert!(keys.accept(&PublicKey::from_openssh(ECDSA).unwrap()));
}

#[test]
fn a_malformed_key_is_named_by_its_place() {
    for bad in [
        "",
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5",
        "host ssh-ed25519 A",
    ] {
        match HostKeys::of(&hop(&[ED25519, bad]), true) {
            Err(ConnectError::HostKeyMalformed {
                index: 1, value, ..
            }) => assert_eq!(value, bad),
            other => panic!("{bad:?}: {other:?}"),
        }
    }
}

#[test]
fn fingerprints_are_those_of_ssh_keygen() {
    let key = PublicKey::from_openssh(ED25519).unwrap();
    assert_eq!(
        fingerprint(&key),
        "SHA256:D3z0+vHiinHccXjH7x+CYSIXsmohs1NrfrDZF+whah4"
    );
}
