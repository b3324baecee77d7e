//! Every label, annotation, finalizer and field manager, once.

/// Label on every object of a cluster: the name of its Cluster (2019 API).
pub const LABEL_CLUSTER: &str = "cluster.k8s.io/cluster-name";
/// Label on Machines: the MachineSet that made them.
pub const LABEL_MACHINE_SET: &str = "cluster.k8s.io/set-name";
/// Label on MachineSets and Machines: the MachineDeployment above them.
pub const LABEL_MACHINE_DEPLOYMENT: &str = "cluster.k8s.io/deployment-name";
/// Label on MachineSets: the same, under the name that the stock cluster-autoscaler reads, whatever its
/// `CAPI_GROUP` is.
pub const LABEL_MACHINE_DEPLOYMENT_X: &str = "cluster.x-k8s.io/deployment-name";
/// Label on Machines whose `versions.controlPlane` is set.
pub const LABEL_CONTROL_PLANE: &str = "cluster.k8s.io/control-plane";
/// Label that a MachineDeployment adds to the selector and template of its MachineSets (2019 API).
pub const LABEL_TEMPLATE_HASH: &str = "machine-template-hash";
/// Label on a MachineClass: "true" while a MachineDeployment or Machine uses it. Read by an
/// admission policy, so that a class in use cannot be deleted.
pub const LABEL_CLASS_IN_USE: &str = "tatara.dev/in-use";
/// Label on Secrets that Tatara wrote, so that it can watch just these.
pub const LABEL_MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`LABEL_MANAGED_BY`].
pub const MANAGED_BY: &str = "tatara";

/// Annotation: nothing is done to this object or to what is below it.
pub const ANNOTATION_PAUSED: &str = "cluster.k8s.io/paused";
/// Annotation on a Machine: delete this one first when its set shrinks (2019 API).
pub const ANNOTATION_DELETE_MACHINE: &str = "cluster.k8s.io/delete-machine";
/// Annotation on a Node: `namespace/name` of its Machine (2019 API).
pub const ANNOTATION_MACHINE: &str = "cluster.k8s.io/machine";
/// Annotation on a Machine: do not cordon and drain its Node before it is released.
pub const ANNOTATION_EXCLUDE_DRAIN: &str = "machine.cluster.k8s.io/exclude-node-draining";
/// Annotation on a Node of a workload cluster: Tatara cordoned it, and may uncordon it. One that was cordoned already does
/// not get it.
pub const ANNOTATION_CORDONED: &str = "tatara.dev/cordoned";
/// Annotation on a Node of a workload cluster: the cluster autoscaler does not remove it. Set while Tatara cordons the Node, which
/// is empty then.
pub const ANNOTATION_SCALE_DOWN_DISABLED: &str =
    "cluster-autoscaler.kubernetes.io/scale-down-disabled";
/// Value of [`ANNOTATION_CORDONED`] where [`ANNOTATION_SCALE_DOWN_DISABLED`] is Tatara's too.
pub const CORDONED_AND_KEPT: &str = "scale-down-disabled";
/// Prefix of annotations on a Machine, followed by `/` and a name: while there is one, its Node is not drained. The same as
/// in Cluster API, in the group of 2019.
pub const HOOK_PRE_DRAIN: &str = "pre-drain.delete.hook.machine.cluster.k8s.io";
/// Prefix of annotations on a Machine, followed by `/` and a name: while there is one, nothing of it is removed or released
/// after its drain.
pub const HOOK_PRE_TERMINATE: &str = "pre-terminate.delete.hook.machine.cluster.k8s.io";
/// Label on a pod of a workload cluster: what a drain does with it.
pub const LABEL_DRAIN: &str = "tatara.dev/drain";
/// The same label of Cluster API, which charts and operators set.
pub const LABEL_DRAIN_UPSTREAM: &str = "cluster.x-k8s.io/drain";
/// Value of both: leave the pod alone.
pub const DRAIN_SKIP: &str = "skip";
/// Value of [`LABEL_DRAIN_UPSTREAM`]: do not evict the pod, and wait until it has completed.
pub const DRAIN_WAIT_COMPLETED: &str = "wait-completed";
/// Annotation on a Machine or a Host: each new value retries at once what failed, without its back-off.
pub const ANNOTATION_RETRY: &str = "tatara.dev/retry";
/// Annotation on the template of a MachineDeployment: another value replaces its Machines, as a change of the template does.
/// The MachineSet that is made then has it too, but neither its template nor its Machines.
pub const ANNOTATION_RESTARTED_AT: &str = "tatara.dev/restarted-at";
/// Annotation on a MachineSet: create no Machines (OnDelete keeps old sets from refilling).
pub const ANNOTATION_DISABLE_CREATE: &str = "cluster.k8s.io/disable-machine-create";
/// Annotation on a MachineSet: what it has beyond `spec.replicas` is not deleted, but moves to the MachineSet of this UID.
pub const ANNOTATION_MOVES_TO: &str = "tatara.dev/moves-to";
/// Annotation on a MachineSet: its revision (2019 API).
pub const ANNOTATION_REVISION: &str = "machinedeployment.clusters.k8s.io/revision";
/// Annotation on a MachineSet: its revision, under the name by which the stock cluster-autoscaler sees that a deployment
/// rolls out, whatever its `CAPI_GROUP` is.
pub const ANNOTATION_REVISION_X: &str = "machinedeployment.clusters.x-k8s.io/revision";
/// Annotation on a MachineSet: earlier revisions that it stood for, comma-separated (2019 API).
pub const ANNOTATION_REVISION_HISTORY: &str = "machinedeployment.clusters.k8s.io/revision-history";
/// Annotation on a MachineSet: replicas that its MachineDeployment wants (2019 API).
pub const ANNOTATION_DESIRED_REPLICAS: &str = "machinedeployment.clusters.k8s.io/desired-replicas";
/// Annotation on a MachineSet: desired replicas plus surge (2019 API).
pub const ANNOTATION_MAX_REPLICAS: &str = "machinedeployment.clusters.k8s.io/max-replicas";
/// Annotation on a Cluster, and on its CA Secret: who holds the control-plane turn, as JSON
/// ([`crate::api::cluster::Turn`]).
pub const ANNOTATION_TURN: &str = "tatara.dev/control-plane-turn";
/// Annotation on a Cluster, and on its CA Secret: UID of the Machine that ran `kubeadm init`. Its
/// presence is the record that the control plane exists. It is removed only with the Cluster.
pub const ANNOTATION_INITIALIZED: &str = "tatara.dev/control-plane-initialized";
/// Annotation on a Cluster: the version to which kubeadm's record was raised for a control plane that joined; CoreDNS and
/// kube-proxy follow once all control planes run it, and then it is removed.
pub const ANNOTATION_ADDONS_DUE: &str = "tatara.dev/kubeadm-addons-due";
/// Annotation on a Machine: the Host that it chose, written with a compare-and-swap before it claims that Host.
pub const ANNOTATION_HOST: &str = "tatara.dev/host";
/// Annotation on a Machine, or on its Cluster where the Machine is deleted: the user confirms that nothing of the
/// Machine of this UID runs any more. It is removed after use.
pub const ANNOTATION_HOST_IS_GONE: &str = "tatara.dev/host-is-gone";
/// Annotation on a Machine: the Hypervisor on which its virtual machine is created. Written with a
/// compare-and-swap before anything is created there, and never changed while a virtual machine may exist.
pub const ANNOTATION_HYPERVISOR: &str = "tatara.dev/hypervisor";
/// Annotation on a Hypervisor: Machines that were removed while their virtual machines could not be deleted, as JSON
/// ([`crate::api::given_up::GivenUp`]). Only these virtual machines are deleted once its gateway answers.
pub const ANNOTATION_GIVEN_UP: &str = "tatara.dev/given-up";
/// On a Machine: the Cluster's kubeadm settings that its node has, as JSON. On a Cluster: those that kubeadm's ConfigMaps have.
pub const ANNOTATION_SETTINGS: &str = "tatara.dev/kubeadm-settings";
/// Annotation on a Cluster: stands for settings that were edited under a release that applied none. They stay as they are on
/// the nodes until they are edited again, or this is removed.
pub const ANNOTATION_SETTINGS_KEPT: &str = "tatara.dev/settings-kept";
/// Annotation on a Cluster: the settings that are being written into kubeadm's ConfigMaps, as a JSON list, until
/// [`ANNOTATION_SETTINGS`] has them.
pub const ANNOTATION_SETTINGS_WRITING: &str = "tatara.dev/settings-writing";
/// Annotation on a Host: install its operating system. Its value is the serial number or WWN of the disk, as
/// `rootDeviceHints` has it, so that it names the data that will be lost. It is removed when the installation begins.
pub const ANNOTATION_REINSTALL: &str = "tatara.dev/reinstall";
/// Annotation on a Host: the installation that is under way, or failed, as JSON
/// ([`crate::api::installation::Record`]). Written by compare-and-swap.
pub const ANNOTATION_INSTALLATION: &str = "tatara.dev/installation";

/// The manager's account, as `templates/install/` makes it: an administrator corrects in its name
/// (`kubectl --as`) what admission allows to no other account.
pub const MANAGER_ACCOUNT: &str = "system:serviceaccount:tatara-system:tatara-manager";

/// Whether an annotation is a record of one object, which an object created from it must not have: where it runs, what it
/// was created with, that its host does not exist any more.
pub fn is_record(annotation: &str) -> bool {
    annotation.starts_with("tatara.dev/")
}

/// Finalizer of a Cluster (2019 API).
pub const FINALIZER_CLUSTER: &str = "cluster.cluster.k8s.io";
/// Finalizer on a Cluster that has a ClusterProfile: the profile is deleted first.
pub const FINALIZER_PROFILE: &str = "clusterprofile.tatara.dev";
/// Finalizer of a Machine (2019 API).
pub const FINALIZER_MACHINE: &str = "machine.cluster.k8s.io";
/// Finalizer on a Host that is claimed, and on Secrets and classes that a deletion still needs.
pub const FINALIZER_IN_USE: &str = "tatara.dev/in-use";

/// Label of a ClusterProfile: its cluster manager (KEP-4322).
pub const LABEL_PROFILE_MANAGER: &str = "x-k8s.io/cluster-manager";
/// Label of a ClusterProfile: a stable identity of the member (cluster-inventory-api).
pub const LABEL_PROFILE_MEMBER_ID: &str = "multicluster.x-k8s.io/inventory-member-id";

/// Label of a ClusterProfile: the namespace of its Cluster.
pub const LABEL_CLUSTER_NAMESPACE: &str = "tatara.dev/cluster-namespace";
/// Our name as a cluster manager (KEP-4322).
pub const PROFILE_MANAGER: &str = "tatara";

/// Field manager of everything that the manager applies.
pub const FIELD_MANAGER: &str = "tatara";

/// Provider ID of a machine: set on the kubelet before kubeadm runs, and found on the Node after.
pub fn provider_id(provider: &str, machine_uid: &str) -> String {
    format!("tatara://{provider}/{machine_uid}")
}

/// UID of the Machine that a provider ID of ours names.
pub fn machine_uid(provider_id: &str) -> Option<&str> {
    provider_id
        .strip_prefix("tatara://")?
        .split_once('/')
        .map(|(_, uid)| uid)
}

/// All provider IDs that a Machine of this UID may have.
pub fn provider_ids(machine_uid: &str) -> [String; 3] {
    ["ssh", "libvirt", "simulated"].map(|provider| provider_id(provider, machine_uid))
}

/// Type of the Secrets with the credentials of a gateway.
pub const SECRET_TYPE_GATEWAY: &str = "tatara.dev/gateway";

/// Name of the Secret with the SSH keys of a virtual machine: the login key of the manager, and the host key.
pub fn ssh_secret(machine: &str) -> String {
    format!("{machine}-ssh")
}

/// Name of the Secret with the host key that an installation gives to a Host.
pub fn host_key_secret(host: &str) -> String {
    format!("{host}-hostkey")
}

/// Name of the Secret with the administrator kubeconfig of a cluster (Cluster API convention).
pub fn kubeconfig_secret(cluster: &str) -> String {
    format!("{cluster}-kubeconfig")
}

/// Name of the Secret with the kubeconfig that consumers of the ClusterProfile use.
pub fn profile_kubeconfig_secret(cluster: &str) -> String {
    format!("{cluster}-profile-kubeconfig")
}
