//! What objects are looked up by.

/// Something that objects are looked up by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// The object's namespace.
    Namespace(String),
    /// The object's own UID.
    Uid(String),
    /// UID of the controlling owner.
    Owner(String),
    /// The namespace of an object without a controlling owner.
    Orphan(String),
    /// Namespace and name of the Cluster that it belongs to.
    Cluster(String, String),
    /// The same, of a Machine that is a control plane, or waits for the workers as one.
    ControlPlane(String, String),
    /// The same, of a worker that is surely ours, Ready and not being deleted: it is only counted.
    Well(String, String),
    /// The same, of every other Machine.
    NotWell(String, String),
    /// UID of the controlling owner of a Machine that has trouble to report.
    Troubled(String),
    /// Namespace and name of a MachineClass that it uses.
    Class(String, String),
    /// Namespace and name of the Hypervisor that it runs on.
    Hypervisor(String, String),
    /// UID of the Machine that claims it.
    Claim(String),
    /// Namespace and name of a Secret that it uses.
    Secret(String, String),
    /// An address that it is reached at.
    Address(String),
    /// The BMC that drives its power.
    Bmc(String),
    /// Its `/etc/machine-id`.
    MachineId(String),
    /// Namespace, and the name that it calls itself.
    Hostname(String, String),
    /// It cannot be decoded.
    Unreadable,
    /// The same, by namespace.
    UnreadableIn(String),
    /// Namespace of an object of which not even owner, Cluster and claim can be decoded.
    UnknownIn(String),
}
