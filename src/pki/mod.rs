//! Certificate authorities, kubeconfigs and bootstrap tokens.
//!
//! What we make is ECDSA P-256 (ring); authorities that users bring may be RSA as well. Time comes in
//! as an argument, randomness from the operating system. Private keys and tokens are
//! [`secrecy::SecretString`]s: no `Debug` and no error shows them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`authority`] | one certificate authority: made, loaded, and the client certificates that it signs |
//! | [`authorities`] | the three authorities and the service-account key of a cluster, and their files |
//! | [`service_account`] | the key pair that signs tokens of service accounts |
//! | [`kubeconfig`] | kubeconfigs by client certificate |
//! | [`bootstrap_token`] | the tokens that machines join with |

pub mod authorities;
pub mod authority;
pub mod bootstrap_token;
mod error;
mod keys;
pub mod kubeconfig;
pub mod service_account;
mod x509;

pub use authorities::{Authorities, AuthoritySecret};
pub use authority::{Authority, ClientCertificate};
pub use bootstrap_token::BootstrapToken;
pub use error::PkiError;
pub use kubeconfig::{Kubeconfig, KubeconfigError};
pub use service_account::ServiceAccountKey;
pub use x509::renew_at;
