//! Kubeconfigs from users. A kubeconfig in a Secret may name neither programs nor files: the
//! manager would run or read its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig};

use tatara_core::remedy;
use tatara_core::yaml::RECORD;

/// The client configuration of a kubeconfig.
///
/// # Errors
/// Why the kubeconfig cannot be used, without any secret of it.
pub async fn config(text: &str) -> Result<kube::Config, String> {
    // kube's own reader follows every alias
    let read: Vec<Kubeconfig> = RECORD
        .read_all_private(text)
        .map_err(|why| unreadable(&why))?;
    let mut all = read.into_iter();
    let merged = all.try_fold(Kubeconfig::default(), Kubeconfig::merge);
    let given = merged.map_err(|_| {
        unreadable("its documents are of different kinds, or of different apiVersions")
    })?;
    if let Some(field) = refused(&given) {
        return Err(format!(
            "it uses {field}, which would run a program or read a file of the manager; {}",
            instead(field)
        ));
    }
    if let Some(problem) = unverified(&given) {
        return Err(problem.into());
    }
    kube::Config::from_custom_kubeconfig(given, &KubeConfigOptions::default())
        .await
        .map_err(|error| error.to_string())
}

/// The URL of the API in a kubeconfig, as `https://host:port`, and the certificates that verify it,
/// in PEM, for a ClusterProfile.
///
/// # Errors
/// Why they cannot be published in a ClusterProfile.
pub fn server(config: &kube::Config) -> Result<(String, String), String> {
    let url = &config.cluster_url;
    let host = url.host().unwrap_or_default();
    if url.scheme_str() != Some("https") || host.is_empty() {
        return Err(
            "its server is not an https URL, which consumers of a ClusterProfile need".into(),
        );
    }
    let authorities = config.root_cert.as_deref().unwrap_or_default();
    if authorities.is_empty() || config.accept_invalid_certs {
        return Err(
            "its cluster has no certificate-authority-data or sets insecure-skip-tls-verify, and consumers of a \
ClusterProfile verify the API; set certificate-authority-data to the authority of the API server"
                .into(),
        );
    }
    if config.tls_server_name.is_some() {
        return Err(
            "its cluster has a tls-server-name, which consumers of a ClusterProfile do not use; set server to a \
             name or address in its certificate"
                .into(),
        );
    }
    let port = url.port_u16().unwrap_or(443);
    let path = url.path().trim_end_matches('/');
    let blocks = authorities.iter().map(|der| pem(der));
    Ok((format!("https://{host}:{port}{path}"), blocks.collect()))
}

/// A certificate in PEM.
fn pem(der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let mut lines = String::from("-----BEGIN CERTIFICATE-----\n");
    for line in text.as_bytes().chunks(64) {
        lines.push_str(&String::from_utf8_lossy(line));
        lines.push('\n');
    }
    lines + "-----END CERTIFICATE-----\n"
}

fn unreadable(why: &str) -> String {
    format!(
        "it cannot be read as a kubeconfig: {why}; store what {} prints",
        remedy::workload::whole_kubeconfig()
    )
}

/// What a user gives instead of a field that is refused. `--flatten` puts certificates and keys
/// inline, and nothing else.
fn instead(field: &str) -> String {
    match field {
        "exec" | "auth-provider" | "tokenFile" => {
            "give that user a token, or client-certificate-data and client-key-data, instead: for example the token of a \
             ServiceAccount of that cluster (Secret of type kubernetes.io/service-account-token) that is bound to ClusterRole \
             cluster-admin"
                .to_owned()
        }
        _ => format!(
            "put the data inline ({})",
            remedy::workload::flat_kubeconfig()
        ),
    }
}

/// The first field that names a program or a file.
fn refused(given: &Kubeconfig) -> Option<&'static str> {
    let users = given
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref());
    let clusters = given
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref());
    users
        .filter_map(of_user)
        .chain(clusters.filter_map(of_cluster))
        .next()
}

/// Why the API server of one of its clusters would not be verified.
fn unverified(given: &Kubeconfig) -> Option<&'static str> {
    let clusters = given.clusters.iter();
    let mut clusters = clusters.filter_map(|named| named.cluster.as_ref());
    clusters.find_map(|cluster| {
        let server = cluster.server.as_deref().unwrap_or_default();
        let is_https = |scheme: &str| scheme.eq_ignore_ascii_case("https://");
        if cluster.insecure_skip_tls_verify == Some(true) {
            return Some(
                "it sets insecure-skip-tls-verify, so that anyone on the way could be the API server; remove that, and \
                 set certificate-authority-data to the authority of the API server",
            );
        }
        (!server.is_empty() && !server.get(..8).is_some_and(is_https)).then_some(
            "its server is not an https URL, so that anyone on the way could be the API server; set server to \
             https://HOST:PORT",
        )
    })
}

fn of_user(user: &AuthInfo) -> Option<&'static str> {
    let fields = [
        (user.exec.is_some(), "exec"),
        (user.auth_provider.is_some(), "auth-provider"),
        (user.token_file.is_some(), "tokenFile"),
        (user.client_certificate.is_some(), "client-certificate"),
        (user.client_key.is_some(), "client-key"),
    ];
    fields
        .iter()
        .find(|(is_set, _)| *is_set)
        .map(|(_, name)| *name)
}

fn of_cluster(cluster: &Cluster) -> Option<&'static str> {
    cluster
        .certificate_authority
        .is_some()
        .then_some("certificate-authority")
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNREADABLE: &str = "it cannot be read as a kubeconfig: ";

    fn text(user: &str, cluster: &str) -> String {
        format!(
            "apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: 'https://192.0.2.1:6443'{cluster}}}}}]
users: [{{name: u, user: {{{user}}}}}]
"
        )
    }

    #[tokio::test]
    async fn programs_and_files_of_the_manager_are_refused_by_the_name_of_the_field() {
        let users = [
            ("exec: {command: sh, apiVersion: v1}", "exec", false),
            (
                "auth-provider: {name: gcp, config: {}}",
                "auth-provider",
                false,
            ),
            ("tokenFile: /var/run/token", "tokenFile", false),
            ("client-certificate: /etc/c.pem", "client-certificate", true),
            ("client-key: /etc/k.pem", "client-key", true),
        ];
        for (user, field, is_flattened) in users {
            let problem = config(&text(user, "")).await.expect_err(field);
            assert!(problem.contains(&format!("it uses {field},")), "{problem}");
            // kubectl config view --flatten helps with certificates and keys only
            assert_eq!(problem.contains("--flatten"), is_flattened, "{problem}");
            let is_token = problem.contains("kubernetes.io/service-account-token");
            assert_eq!(is_token, !is_flattened, "{problem}");
        }
        let cluster = ", certificate-authority: /etc/ca.pem";
        let problem = config(&text("token: t", cluster))
            .await
            .expect_err("a file");
        assert!(problem.contains("certificate-authority"), "{problem}");
    }

    #[tokio::test]
    async fn a_server_that_would_not_be_verified_is_refused_by_the_name_of_the_field() {
        let insecure = text("token: t", ", insecure-skip-tls-verify: true");
        let plain = text("token: t", "").replace("https://", "http://");
        for (given, field) in [
            (insecure, "insecure-skip-tls-verify"),
            (plain, "server is not an https URL"),
        ] {
            let problem = config(&given).await.expect_err(field);
            assert!(problem.contains(field), "{problem}");
            assert!(problem.contains("; "), "{problem}");
        }
        let verified = text("token: t", ", insecure-skip-tls-verify: false");
        assert!(config(&verified.replace("https", "HTTPS")).await.is_ok());
    }

    #[tokio::test]
    async fn a_kubeconfig_with_everything_inline_is_used() {
        let used = config(&text("token: t", "")).await.expect("a kubeconfig");
        assert_eq!(used.cluster_url.host(), Some("192.0.2.1"));
    }

    #[tokio::test]
    async fn where_the_api_is_served_is_told_with_its_port_and_its_authority() {
        let authority = include_str!("../../tests/pki/ec.crt");
        let data = STANDARD.encode(authority);
        let used = |text: String| async move { config(&text).await.expect("a kubeconfig") };
        let given = text("token: t", &format!(", certificate-authority-data: {data}"));
        let (url, pem) = server(&used(given.clone()).await).expect("a server");
        assert_eq!(
            (url.as_str(), pem.trim()),
            ("https://192.0.2.1:6443", authority.trim())
        );
        let behind = given.replace("192.0.2.1:6443", "rancher.example.com/k8s/clusters/c-1/");
        let (url, _) = server(&used(behind).await).expect("a server");
        assert_eq!(url, "https://rancher.example.com:443/k8s/clusters/c-1");
        for (change, says) in [
            (String::new(), "no certificate-authority-data"),
            (
                format!(", certificate-authority-data: {data}, tls-server-name: api"),
                "tls-server-name",
            ),
        ] {
            let problem = server(&used(text("token: t", &change)).await).expect_err(says);
            assert!(problem.contains(says), "{problem}");
        }
    }

    #[tokio::test]
    async fn aliases_of_a_kubeconfig_are_not_followed_for_ever() {
        let long = "x".repeat(100 << 10);
        let mut given = format!("{}\npreferences:\n  extensions:\n", text("token: t", ""));
        given.push_str("  - &a {name: a, extension: ");
        given.push_str(&long);
        given.push_str("}\n");
        given += &"  - *a\n".repeat(60);
        assert!(Kubeconfig::from_yaml(&given).is_ok(), "it is one");
        let problem = config(&given).await.expect_err("too much");
        assert!(problem.starts_with(UNREADABLE), "{problem}");
        // which limit it is depends on where the reader notices it
        let is_limit = problem.contains("scalar") || problem.contains("stands for too much");
        assert!(is_limit && !problem.contains("xxx"), "{problem}");
        let long = format!("{}# {}", text("token: t", ""), "x".repeat(256 << 10));
        let problem = config(&long).await.expect_err("too much");
        assert!(problem.contains("at most 262144 are read"), "{problem}");
    }

    #[tokio::test]
    async fn what_is_no_kubeconfig_is_said_without_its_text() {
        for given in [
            "token: canary\n- x",
            "- canary",
            "users: canary",
            "users: [{name: u, user: {token: [canary]}}]",
            "users: [{name: u, user: *canary}]",
            "kind: canary\n---\nkind: Config",
        ] {
            let problem = config(given).await.expect_err(given);
            assert!(problem.starts_with(UNREADABLE), "{problem}");
            assert!(
                problem.contains("; store what kubectl config view"),
                "{problem}"
            );
            assert!(!problem.contains("canary"), "{problem}");
        }
        let problem = config("kind: Config\n: canary: d\n").await;
        let problem = problem.expect_err("no YAML");
        assert!(problem.contains("line 2 is not YAML"), "{problem}");
    }
}
