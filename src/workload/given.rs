//! Kubeconfigs that somebody else wrote. What is in a Secret may name neither programs nor files: they
//! would be the manager's own.

use kube::config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig};

/// A client's settings from the text of a kubeconfig, or why it cannot be used, for people. No secret of it
/// is repeated.
pub async fn config(text: &str) -> Result<kube::Config, String> {
    let given = Kubeconfig::from_yaml(text).map_err(|_| "it is no kubeconfig".to_owned())?;
    if let Some(field) = refused(&given) {
        return Err(format!(
            "it uses {field}, which would run or read something of the manager's own; put the data inline \
             (kubectl config view --flatten --minify)"
        ));
    }
    kube::Config::from_custom_kubeconfig(given, &KubeConfigOptions::default())
        .await
        .map_err(|error| error.to_string())
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
            ("exec: {command: sh, apiVersion: v1}", "exec"),
            ("auth-provider: {name: gcp, config: {}}", "auth-provider"),
            ("tokenFile: /var/run/token", "tokenFile"),
            ("client-certificate: /etc/c.pem", "client-certificate"),
            ("client-key: /etc/k.pem", "client-key"),
        ];
        for (user, field) in users {
            let problem = config(&text(user, "")).await.expect_err(field);
            assert!(problem.contains(&format!("it uses {field},")), "{problem}");
        }
        let cluster = ", certificate-authority: /etc/ca.pem";
        let problem = config(&text("token: t", cluster))
            .await
            .expect_err("a file");
        assert!(problem.contains("certificate-authority"), "{problem}");
    }

    #[tokio::test]
    async fn a_kubeconfig_with_everything_inline_is_used() {
        let used = config(&text("token: t", "")).await.expect("a kubeconfig");
        assert_eq!(used.cluster_url.host(), Some("192.0.2.1"));
    }

    #[tokio::test]
    async fn what_is_no_kubeconfig_is_said_without_its_text() {
        let problem = config("token: canary\n- x").await.expect_err("no YAML");
        assert!(!problem.contains("canary"), "{problem}");
    }
}
