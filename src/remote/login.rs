//! Login by public key.

use std::sync::Arc;

use russh::client::{AuthResult, Handle};
use russh::keys::{Algorithm, HashAlg, PrivateKeyWithHashAlg};
use russh::{MethodKind, MethodSet};

use super::verifier::{PeerRecord, Verifier};
use super::{ConnectError, Hop};

/// Logs in to `hop` with its credential.
pub(super) async fn log_in(
    hop: &Hop,
    handle: &mut Handle<Verifier>,
    seen: &PeerRecord,
) -> Result<(), ConnectError> {
    let (mut remaining, mut partial) = (MethodSet::empty(), false);
    for hash in hashes(hop, handle).await {
        let key = PrivateKeyWithHashAlg::new(hop.credential.key(), hash);
        match handle.authenticate_publickey(&hop.user, key).await {
            Ok(AuthResult::Success) => return Ok(()),
            Ok(AuthResult::Failure {
                remaining_methods,
                partial_success,
            }) => {
                (remaining, partial) = (remaining_methods, partial_success);
            }
            Err(_) => return Err(lost(hop, seen)),
        }
        if partial || !remaining.contains(&MethodKind::PublicKey) {
            break;
        }
    }
    // russh reports a connection lost during login as a refusal without any method left.
    let refused = seen
        .farewell
        .get()
        .is_some_and(|farewell| farewell.about_login);
    if handle.is_closed() && remaining.is_empty() && !refused {
        return Err(lost(hop, seen));
    }
    Err(refusal(hop, &remaining, partial))
}

/// Signature hashes to try. For RSA these are SHA-2 only, the server's first choice before the
/// other: servers list what they support, which may be more than they are configured to accept.
/// A server that supports only SHA-1 refuses the login.
async fn hashes(hop: &Hop, handle: &Handle<Verifier>) -> Vec<Option<HashAlg>> {
    if !matches!(hop.credential.key().algorithm(), Algorithm::Rsa { .. }) {
        return vec![None];
    }
    let named = handle
        .best_supported_rsa_hash()
        .await
        .ok()
        .flatten()
        .flatten();
    match named {
        Some(HashAlg::Sha256) => vec![Some(HashAlg::Sha256)],
        _ => vec![Some(HashAlg::Sha512), Some(HashAlg::Sha256)],
    }
}

fn lost(hop: &Hop, seen: &PeerRecord) -> ConnectError {
    ConnectError::Unreachable {
        host: hop.to_string(),
        source: Arc::new(seen.closed("the connection was closed during login")),
    }
}

fn refusal(hop: &Hop, remaining: &MethodSet, partial: bool) -> ConnectError {
    let methods: Vec<&str> = remaining.iter().map(Into::into).collect();
    let methods = methods.join(", ");
    let detail = match (partial, methods.is_empty()) {
        (true, _) => format!(" (the server wants {methods} as well)"),
        (false, false) => format!(" (the server accepts {methods})"),
        (false, true) => String::new(),
    };
    ConnectError::AuthenticationFailed {
        host: hop.to_string(),
        user: hop.user.clone(),
        key: format!(
            "{} {}",
            hop.credential.key_type(),
            hop.credential.fingerprint()
        ),
        detail,
    }
}
