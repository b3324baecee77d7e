//! Certificate authorities, kubeconfigs and bootstrap tokens.
//!
//! Generated keys are ECDSA P-256 (ring); authorities of users may be RSA as well. The time is
//! an argument, random numbers come from the operating system. Private keys and tokens are
//! [`secrecy::SecretString`]s: neither `Debug` nor an error shows them.
//!
//! | module | what it holds |
//! |---|---|
//! | [`authority`] | one certificate authority: generating, loading, signing client certificates |
//! | [`authorities`] | the three authorities and the service-account key of a cluster, and their files |
//! | [`service_account`] | the key pair that signs tokens of service accounts |
//! | [`kubeconfig`] | kubeconfigs with a client certificate or token |
//! | [`bootstrap_token`] | bootstrap tokens of joining machines |

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
