//! The annotations of Tatara: what each is on, who writes it, and what it does.

use crate::api::names::{
    ANNOTATION_ADDONS_DUE, ANNOTATION_CORDONED, ANNOTATION_DELETE_MACHINE,
    ANNOTATION_DESIRED_REPLICAS, ANNOTATION_DISABLE_CREATE, ANNOTATION_EXCLUDE_DRAIN,
    ANNOTATION_GIVEN_UP, ANNOTATION_HOST, ANNOTATION_HOST_IS_GONE, ANNOTATION_HYPERVISOR,
    ANNOTATION_INITIALIZED, ANNOTATION_INSTALLATION, ANNOTATION_MACHINE, ANNOTATION_MAX_REPLICAS,
    ANNOTATION_MOVES_TO, ANNOTATION_PAUSED, ANNOTATION_REINSTALL, ANNOTATION_RESTARTED_AT,
    ANNOTATION_RETRY, ANNOTATION_REVISION, ANNOTATION_REVISION_HISTORY, ANNOTATION_REVISION_X,
    ANNOTATION_SCALE_DOWN_DISABLED, ANNOTATION_SETTINGS, ANNOTATION_SETTINGS_KEPT,
    ANNOTATION_SETTINGS_WRITING, ANNOTATION_TURN, HOOK_PRE_DRAIN, HOOK_PRE_TERMINATE,
};
use crate::remedy;

use self::Writer::{Controller, ForOthers, Person, Tatara};

/// Stands for the template of a MachineDeployment among the kinds.
pub const TEMPLATE: &str = "MachineDeployment template";

/// An annotation, as it is on some kinds.
#[derive(Clone, Copy, Debug)]
pub struct Annotation {
    /// Its name; that of a hook goes on with `/` and another name.
    pub name: &'static str,
    /// The kinds that have it, as in manifests.
    pub kinds: &'static [&'static str],
    /// Who writes it.
    pub writer: Writer,
    /// What it does, or records: a short clause.
    pub meaning: &'static str,
}

/// Who writes an annotation.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// Tatara, and decides by it.
    Tatara,
    /// Tatara, for others to read.
    ForOthers,
    /// Another controller.
    Controller,
    /// A person, by this command.
    Person(Command),
}

/// The command that sets an annotation on an object of a kind (in lower case), a namespace and a
/// name: a verb of `tatara` where there is one, which checks first.
pub type Command = fn(&str, &str, &str) -> String;

impl Writer {
    /// Who that is.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tatara | Self::ForOthers => "Tatara",
            Self::Controller => "another controller",
            Self::Person(_) => "a person",
        }
    }
}

impl Annotation {
    /// Whether Tatara decides by it.
    pub fn is_read(&self) -> bool {
        !matches!(self.writer, Writer::ForOthers)
    }

    /// The command by which a person sets it.
    pub fn command(&self) -> Option<Command> {
        match self.writer {
            Writer::Person(command) => Some(command),
            _ => None,
        }
    }
}

/// The annotation that an object of this kind has under this key.
pub fn find(kind: &str, key: &str) -> Option<&'static Annotation> {
    let is_it = |one: &&Annotation| {
        let rest = key.strip_prefix(one.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    of(kind).find(is_it)
}

/// Those that objects of a kind have.
pub fn of(kind: &str) -> impl Iterator<Item = &'static Annotation> {
    ALL.iter().filter(move |one| one.kinds.contains(&kind))
}

const fn row(
    name: &'static str,
    kinds: &'static [&'static str],
    writer: Writer,
    meaning: &'static str,
) -> Annotation {
    Annotation {
        name,
        kinds,
        writer,
        meaning,
    }
}

const ALL: &[Annotation] = &[
    row(
        ANNOTATION_PAUSED,
        &[
            "Cluster",
            "MachineDeployment",
            "MachineSet",
            "Machine",
            "Host",
        ],
        Person(remedy::pause),
        "nothing is done to it or to what is below it",
    ),
    row(
        ANNOTATION_PAUSED,
        &["Hypervisor"],
        Person(remedy::pause),
        "no virtual machine is created on it",
    ),
    row(
        ANNOTATION_RETRY,
        &["Machine", "Host"],
        Person(remedy::retry),
        "each new value retries at once what failed",
    ),
    row(
        ANNOTATION_HOST_IS_GONE,
        &["Machine"],
        Person(|_, namespace, name| remedy::declare_gone(namespace, name)),
        "what it ran on is destroyed, erased or disconnected for good",
    ),
    row(
        ANNOTATION_HOST_IS_GONE,
        &["Cluster"],
        Person(|_, namespace, name| remedy::cluster::say_gone(namespace, name, "UID")),
        "what the Machine of this UID, which does not exist any more, ran on is gone for good",
    ),
    row(
        ANNOTATION_DELETE_MACHINE,
        &["Machine"],
        Person(|_, namespace, name| remedy::machine::mark(namespace, name)),
        "its set deletes it first when it shrinks",
    ),
    row(
        ANNOTATION_EXCLUDE_DRAIN,
        &["Machine"],
        Person(|_, namespace, name| remedy::machine::skip_drain(namespace, name)),
        "its deletion neither drains its Node nor waits for volumes",
    ),
    row(
        HOOK_PRE_DRAIN,
        &["Machine"],
        Controller,
        "its Node is not drained while this is there",
    ),
    row(
        HOOK_PRE_TERMINATE,
        &["Machine"],
        Controller,
        "it is not released after its drain while this is there",
    ),
    row(
        ANNOTATION_HOST,
        &["Machine"],
        Tatara,
        "the Host that it chose",
    ),
    row(
        ANNOTATION_HYPERVISOR,
        &["Machine", "Secret"],
        Tatara,
        "the Hypervisor on which its virtual machine is created",
    ),
    row(
        ANNOTATION_SETTINGS,
        &["Machine"],
        Tatara,
        "the kubeadm settings that its node has; kubeadm was started for it",
    ),
    row(
        ANNOTATION_SETTINGS,
        &["Cluster"],
        Tatara,
        "the kubeadm settings that kubeadm's ConfigMaps have",
    ),
    row(
        ANNOTATION_SETTINGS_WRITING,
        &["Cluster"],
        Tatara,
        "the settings that are being written into kubeadm's ConfigMaps",
    ),
    row(
        ANNOTATION_SETTINGS_KEPT,
        &["Cluster"],
        Tatara,
        "settings that are left as they are; a person removes it to apply them",
    ),
    row(
        ANNOTATION_ADDONS_DUE,
        &["Cluster"],
        Tatara,
        "the version to which CoreDNS and kube-proxy follow",
    ),
    row(
        ANNOTATION_TURN,
        &["Cluster", "Secret"],
        Tatara,
        "who has the control-plane turn; cluster resolve removes one that cannot be read",
    ),
    row(
        ANNOTATION_INITIALIZED,
        &["Cluster", "Secret"],
        Tatara,
        "UID of the Machine that ran kubeadm init; cluster resolve corrects it",
    ),
    row(
        ANNOTATION_REINSTALL,
        &["Host"],
        Person(|_, namespace, name| remedy::host::reinstall(namespace, name)),
        "its operating system is installed on the disk of this serial number or WWN",
    ),
    row(
        ANNOTATION_INSTALLATION,
        &["Host"],
        Tatara,
        "the installation that is under way, or failed",
    ),
    row(
        ANNOTATION_GIVEN_UP,
        &["Hypervisor"],
        Tatara,
        "removed Machines whose virtual machines are still to be deleted",
    ),
    row(
        ANNOTATION_RESTARTED_AT,
        &[TEMPLATE],
        Person(|_, namespace, name| remedy::restart(namespace, name)),
        "another value replaces its Machines",
    ),
    row(
        ANNOTATION_RESTARTED_AT,
        &["MachineSet"],
        Tatara,
        "the restart for which it was made",
    ),
    row(
        ANNOTATION_DISABLE_CREATE,
        &["MachineSet"],
        Tatara,
        "it creates no Machines",
    ),
    row(
        ANNOTATION_MOVES_TO,
        &["MachineSet"],
        Tatara,
        "its surplus moves to the MachineSet of this UID",
    ),
    row(ANNOTATION_REVISION, &["MachineSet"], Tatara, "its revision"),
    row(
        ANNOTATION_DESIRED_REPLICAS,
        &["MachineSet"],
        Tatara,
        "the replicas that its MachineDeployment wants",
    ),
    row(
        ANNOTATION_REVISION_X,
        &["MachineSet"],
        ForOthers,
        "its revision, for the cluster-autoscaler",
    ),
    row(
        ANNOTATION_REVISION_HISTORY,
        &["MachineSet"],
        ForOthers,
        "earlier revisions that it stood for",
    ),
    row(
        ANNOTATION_MAX_REPLICAS,
        &["MachineSet"],
        ForOthers,
        "the replicas that its MachineDeployment wants, with its surge",
    ),
    row(ANNOTATION_MACHINE, &["Node"], ForOthers, "its Machine"),
    row(
        ANNOTATION_CORDONED,
        &["Node"],
        Tatara,
        "Tatara cordoned it, and may uncordon it",
    ),
    row(
        ANNOTATION_SCALE_DOWN_DISABLED,
        &["Node"],
        ForOthers,
        "the cluster-autoscaler does not remove it",
    ),
];

#[cfg(test)]
#[path = "annotations_tests.rs"]
mod tests;
