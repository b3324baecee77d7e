//! What a person does to a Secret.

use super::kubectl::Object;
use crate::api::names::SECRET_TYPE_GATEWAY;
use crate::words::word;

/// Puts the CA of a control plane into its Secret, from the files on its host in the current
/// folder: without them it changes nothing.
pub fn put_back_authority(namespace: &str, secret: &str) -> String {
    format!(
        "[ -s ca.crt ] && [ -s ca.key ] && {} -p \"{{\\\"data\\\":{{\\\"tls.crt\\\":\\\"$(base64 -w0 ca.crt)\\\",\\\"tls.key\\\":\\\"$(base64 -w0 ca.key)\\\"}}}}\"",
        Object::secret(namespace, secret).command("patch")
    )
}

/// Takes the kubeconfig out of its Secret, so that it is made again.
pub fn remove_kubeconfig(namespace: &str, secret: &str) -> String {
    Object::secret(namespace, secret).patch("[{\"op\":\"remove\",\"path\":\"/data/value\"}]")
}

/// Creates the Secret of the SSH key of Hosts.
pub fn create_ssh_key(namespace: &str, secret: &str) -> String {
    create(
        namespace,
        secret,
        "kubernetes.io/ssh-auth",
        &["ssh-privatekey=KEYFILE"],
    )
}

/// Creates the Secret with user and password of a BMC.
pub fn create_login(namespace: &str, secret: &str) -> String {
    create(
        namespace,
        secret,
        "kubernetes.io/basic-auth",
        &["username=FILE", "password=FILE"],
    )
}

/// Creates the Secret with the credentials of a gateway.
pub fn create_gateway(namespace: &str, secret: &str) -> String {
    create(
        namespace,
        secret,
        SECRET_TYPE_GATEWAY,
        &["ca.crt=CAFILE", "token=TOKENFILE"],
    )
}

fn create(namespace: &str, secret: &str, of: &str, files: &[&str]) -> String {
    format!(
        "kubectl -n {namespace} create secret generic {} --type={of} --from-file={}",
        word(secret),
        files.join(" --from-file=")
    )
}
