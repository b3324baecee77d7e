//! Commands of kubectl on an object of the management cluster.

use crate::api::names::MANAGER_ACCOUNT;
use crate::words::word;

/// An object, as a command names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Object<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its kind, in lower case.
    pub kind: &'a str,
    /// Its name; one that is not plain is left for the reader to fill in.
    pub name: &'a str,
}

impl<'a> Object<'a> {
    /// An object of any kind.
    pub fn of(kind: &'a str, namespace: &'a str, name: &'a str) -> Self {
        Self {
            namespace,
            kind,
            name,
        }
    }

    /// A Machine.
    pub fn machine(namespace: &'a str, name: &'a str) -> Self {
        Self::of("machine", namespace, name)
    }

    /// A Host.
    pub fn host(namespace: &'a str, name: &'a str) -> Self {
        Self::of("host", namespace, name)
    }

    /// A Cluster.
    pub fn cluster(namespace: &'a str, name: &'a str) -> Self {
        Self::of("cluster", namespace, name)
    }

    /// A Hypervisor.
    pub fn hypervisor(namespace: &'a str, name: &'a str) -> Self {
        Self::of("hypervisor", namespace, name)
    }

    /// A Secret.
    pub fn secret(namespace: &'a str, name: &'a str) -> Self {
        Self::of("secret", namespace, name)
    }

    /// A verb, with its flags, and the object.
    pub fn command(self, verb: &str) -> String {
        let Self {
            namespace,
            kind,
            name,
        } = self;
        format!("kubectl -n {namespace} {verb} {kind} {}", word(name))
    }

    /// Prints it in a form.
    pub fn get(self, output: &str) -> String {
        format!("{} -o {output}", self.command("get"))
    }

    /// Deletes it, and waits until it is gone.
    pub fn delete(self) -> String {
        self.command("delete")
    }

    /// Deletes it, without a wait for its end.
    pub fn delete_at_once(self) -> String {
        format!("{} --wait=false", self.delete())
    }

    /// Sets an annotation or label, by `annotate` or `label` with the flags that it needs.
    pub fn set(self, verb: &str, key: &str, value: &str) -> String {
        format!("{} {key}={value}", self.command(verb))
    }

    /// Sets an annotation that it does not have yet.
    pub fn annotate(self, annotation: &str, value: &str) -> String {
        self.set("annotate", annotation, value)
    }

    /// Removes an annotation.
    pub fn unannotate(self, annotation: &str) -> String {
        format!("{} {annotation}-", self.command("annotate"))
    }

    /// Changes fields by a merge patch.
    pub fn merge(self, patch: &str) -> String {
        format!("{} --type=merge -p '{patch}'", self.command("patch"))
    }

    /// The same in the manager's name.
    pub fn merge_as_manager(self, patch: &str) -> String {
        let patch_it = as_manager(&self.command("patch"));
        format!("{patch_it} --type=merge -p '{patch}'")
    }

    /// Changes fields by the operations of a JSON patch.
    pub fn patch(self, operations: &str) -> String {
        format!("{} --type=json -p '{operations}'", self.command("patch"))
    }
}

/// In the name of the manager's account, to which admission allows what it allows to no other.
pub(super) fn as_manager(command: &str) -> String {
    format!("{command} --as={MANAGER_ACCOUNT}")
}

/// Lists the objects of a kind, which is in the plural here.
pub(super) fn list(namespace: &str, kinds: &str) -> String {
    format!("kubectl -n {namespace} get {kinds}")
}
