//! What a person does to a Hypervisor, and through its gateway.

use super::kubectl::Object;
use crate::api::names::ANNOTATION_GIVEN_UP;
use crate::words::word;

/// Deletes a Hypervisor, and with it the record of virtual machines that were given up; waits until
/// it is gone.
pub fn delete(namespace: &str, hypervisor: &str) -> String {
    Object::hypervisor(namespace, hypervisor).delete()
}

/// Gives up the record of virtual machines that were given up, where it cannot be read: removes
/// [`ANNOTATION_GIVEN_UP`].
pub fn remove_given_up(namespace: &str, hypervisor: &str) -> String {
    Object::hypervisor(namespace, hypervisor).unannotate(ANNOTATION_GIVEN_UP)
}

/// Deletes a virtual machine of no Machine with its disks, by the token that is in the Secret of
/// its Hypervisor; `url` is that of the gateway.
pub fn delete_virtual_machine(
    (namespace, hypervisor): (&str, &str),
    secret: &str,
    url: &str,
    id: &str,
) -> String {
    let data = |key: &str| {
        let get = Object::secret(namespace, secret).get(&format!("jsonpath='{{.data.{key}}}'"));
        format!("{get} | base64 -d")
    };
    format!(
        "{} >{hypervisor}-gateway-ca.crt && \
         curl -f -X DELETE --cacert {hypervisor}-gateway-ca.crt -H \"Authorization: Bearer $({})\" {}/v1/machines/{}",
        data("ca\\.crt"),
        data("token"),
        url.trim_end_matches('/'),
        word(id)
    )
}
