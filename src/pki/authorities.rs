//! The certificate authorities of a cluster: their Secrets, and the files of a control-plane host.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};

use super::authority::Authority;
use super::error::PkiError;
use super::service_account::ServiceAccountKey;
use tatara_core::kubeadm::CERTIFICATES_DIR;
use tatara_core::node::ControlPlaneFile;

/// The Secrets of a cluster's PKI. Names and keys follow Cluster API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthoritySecret {
    /// The authority of API servers, kubelets and their clients.
    Cluster,
    /// The authority of etcd.
    Etcd,
    /// The authority of the aggregation layer's front proxy.
    FrontProxy,
    /// The key pair of service-account tokens.
    ServiceAccount,
}

impl AuthoritySecret {
    /// All four Secrets.
    pub const ALL: [Self; 4] = [
        Self::Cluster,
        Self::Etcd,
        Self::FrontProxy,
        Self::ServiceAccount,
    ];

    /// Name of the Secret, in the Cluster's namespace.
    pub fn name(self, cluster: &str) -> String {
        let suffix = match self {
            Self::Cluster => "ca",
            Self::Etcd => "etcd",
            Self::FrontProxy => "proxy",
            Self::ServiceAccount => "sa",
        };
        format!("{cluster}-{suffix}")
    }

    /// Common name of a generated authority, as kubeadm chooses it.
    fn common_name(self) -> &'static str {
        match self {
            Self::Cluster => "kubernetes",
            Self::Etcd => "etcd-ca",
            Self::FrontProxy => "front-proxy-ca",
            Self::ServiceAccount => "sa",
        }
    }
}

/// The authorities of a cluster.
#[derive(Clone, Debug)]
pub struct Authorities {
    /// Signs API servers, kubelets and their clients.
    pub cluster: Authority,
    /// Signs etcd's members and clients.
    pub etcd: Authority,
    /// Signs the aggregation layer's client.
    pub front_proxy: Authority,
    /// Signs tokens of service accounts.
    pub service_account: ServiceAccountKey,
}

impl Authorities {
    /// Loads all four from the data of their Secrets, and generates those that `found` lacks. The
    /// second part of the result names the generated ones: the caller must store them before using
    /// them, or refuse, because none may be generated after init.
    ///
    /// # Errors
    /// A Secret's data cannot be used, or a key or certificate cannot be generated.
    pub fn load_or_generate(
        cluster: &str,
        found: &BTreeMap<AuthoritySecret, BTreeMap<String, ByteString>>,
        now: Timestamp,
    ) -> Result<(Self, Vec<AuthoritySecret>), PkiError> {
        let authority = |which: AuthoritySecret| match found.get(&which) {
            Some(data) => Authority::load(&which.name(cluster), data, now),
            None => Authority::generate(which.common_name(), now),
        };
        let which = AuthoritySecret::ServiceAccount;
        let service_account = match found.get(&which) {
            Some(data) => ServiceAccountKey::load(&which.name(cluster), data)?,
            None => ServiceAccountKey::generate()?,
        };
        let authorities = Self {
            cluster: authority(AuthoritySecret::Cluster)?,
            etcd: authority(AuthoritySecret::Etcd)?,
            front_proxy: authority(AuthoritySecret::FrontProxy)?,
            service_account,
        };
        let made = AuthoritySecret::ALL
            .into_iter()
            .filter(|which| !found.contains_key(which))
            .collect();
        Ok((authorities, made))
    }

    /// The data of one of the Secrets.
    pub fn secret_data(&self, which: AuthoritySecret) -> BTreeMap<String, ByteString> {
        match which {
            AuthoritySecret::Cluster => self.cluster.secret_data(),
            AuthoritySecret::Etcd => self.etcd.secret_data(),
            AuthoritySecret::FrontProxy => self.front_proxy.secret_data(),
            AuthoritySecret::ServiceAccount => self.service_account.secret_data(),
        }
    }
}

/// The files that a control-plane host needs before kubeadm runs; kubeadm generates the others from
/// them.
pub fn control_plane_files(authorities: &Authorities) -> Vec<ControlPlaneFile> {
    let mut files = Vec::new();
    let mut add = |public: &str, key: &str, public_pem: &str, key_pem: &SecretString| {
        files.push(ControlPlaneFile {
            path: format!("{CERTIFICATES_DIR}/{public}"),
            mode: 0o644,
            content: public_pem.into(),
        });
        files.push(ControlPlaneFile {
            path: format!("{CERTIFICATES_DIR}/{key}"),
            mode: 0o600,
            content: key_pem.expose_secret().into(),
        });
    };
    for (name, authority) in [
        ("ca", &authorities.cluster),
        ("front-proxy-ca", &authorities.front_proxy),
        ("etcd/ca", &authorities.etcd),
    ] {
        let (certificate, key) = (format!("{name}.crt"), format!("{name}.key"));
        add(
            &certificate,
            &key,
            authority.certificate_pem(),
            authority.key_pem(),
        );
    }
    let pair = &authorities.service_account;
    add("sa.pub", "sa.key", pair.public_pem(), pair.key_pem());
    files
}

#[cfg(test)]
#[path = "authorities_tests.rs"]
mod tests;
