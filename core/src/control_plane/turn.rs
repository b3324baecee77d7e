//! What is written next, of the control-plane turn and of the record that a control plane exists.
//! Both are kept on the Cluster and on its CA Secret, and the Secret is authoritative: a Cluster is
//! replaced, restored or edited more easily. Pure: from a live read of both to one write, which is
//! then done by compare-and-swap.
//!
//! | | first | then |
//! |---|---|---|
//! | taking the turn | Secret | Cluster |
//! | giving it back | Cluster | Secret |
//! | recording `kubeadm init` | Secret | Cluster, and the turn is returned |
//!
//! The Secret is read before the Cluster, and written only while nothing else has changed on it.
//! Because a return writes the Secret as well (it adds a missing copy first), a copy that was read
//! before a return is never written after it.
//!
//! The turn of `kubeadm init` may not be given twice, because nothing else would show it: two
//! objects must agree. The later ones (join, removal) guard an etcd that can be asked: there the
//! Secret decides, and the Cluster repeats it for people.

use std::collections::BTreeMap;

use kube::ResourceExt;

use crate::api::Cluster;
use crate::api::cluster::{Turn, TurnAction};
use crate::api::conditions::Reason;
use crate::api::names::{ANNOTATION_INITIALIZED, ANNOTATION_TURN};

/// The holder of the turn, according to one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Holder {
    /// No Machine.
    #[default]
    Nobody,
    /// This Machine.
    Of(Turn),
    /// The annotation is not a valid turn.
    Unreadable(String),
}

/// Turn and record, according to one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The holder of the turn.
    pub turn: Holder,
    /// UID of the Machine that ran `kubeadm init`.
    pub initialized: Option<String>,
}

/// Turn and record, according to both objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Both {
    /// The CA Secret.
    pub secret: Marks,
    /// The Cluster.
    pub cluster: Marks,
    /// There is no CA Secret.
    pub no_secret: bool,
}

/// The object that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The CA Secret.
    Secret,
    /// The Cluster.
    Cluster,
}

/// What is done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Write this on one of the two, if it is still as it was read; then read both again.
    Write(Side, Marks),
    /// Nothing is left to write.
    Done,
    /// Another Machine has the turn.
    Blocked(Turn),
    /// The Machine of this UID ran `kubeadm init`.
    Initialized(String),
    /// No Machine has run `kubeadm init`, and the turn that is wanted needs that.
    NotInitialized,
    /// The two contradict each other: nothing proceeds before a person has decided.
    InDoubt(Doubt),
    /// The CA Secret, which has to be written first, is missing.
    NoSecret,
    /// The Machine does not have the turn any more.
    NotHeld,
}

/// How Cluster and CA Secret contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The turn on this object cannot be read.
    Unreadable(Side, String),
    /// They name different holders: first the Secret's, then the Cluster's.
    TwoHolders(Turn, Turn),
    /// The Secret records that this Machine ran `kubeadm init`, and the Cluster does not.
    RecordOnSecretOnly(String),
    /// They name different Machines that ran `kubeadm init`: first the Secret's, then the
    /// Cluster's.
    TwoRecords(String, String),
    /// The Cluster's condition reports one with this reason, and what is cached of the two does not
    /// show it: one of them is older.
    Reported(Reason),
}

impl Marks {
    /// Parses the annotations of an object.
    pub fn of(annotations: &BTreeMap<String, String>) -> Self {
        let turn = match annotations.get(ANNOTATION_TURN) {
            None => Holder::Nobody,
            Some(text) => match serde_json::from_str::<Turn>(text) {
                Ok(turn) if !turn.machine.is_empty() => Holder::Of(turn),
                _ => Holder::Unreadable(text.clone()),
            },
        };
        Self {
            turn,
            initialized: annotations.get(ANNOTATION_INITIALIZED).cloned(),
        }
    }

    /// Whether it names this Machine as the holder of the turn.
    pub fn has_turn_of(&self, uid: &str) -> bool {
        matches!(&self.turn, Holder::Of(turn) if turn.machine == uid)
    }

    /// The same for init, which ends once that is recorded. Not for a later change, which goes on.
    fn has_init_turn_of(&self, uid: &str) -> bool {
        matches!(&self.turn, Holder::Of(turn) if turn.machine == uid && !turn.is_later())
    }

    fn with_turn(&self, turn: &Turn) -> Self {
        Self {
            turn: Holder::Of(turn.clone()),
            ..self.clone()
        }
    }

    fn without_turn(&self) -> Self {
        Self {
            turn: Holder::Nobody,
            ..self.clone()
        }
    }

    fn with_record(&self, uid: &str) -> Self {
        Self {
            initialized: Some(uid.to_owned()),
            ..self.clone()
        }
    }
}

impl Both {
    /// Of a Cluster and its CA Secret, if there is one.
    pub fn of(secret: Option<Marks>, cluster: &Cluster) -> Self {
        Self {
            no_secret: secret.is_none(),
            secret: secret.unwrap_or_default(),
            cluster: Marks::of(cluster.annotations()),
        }
    }

    /// Of a Cluster whose CA Secret has not been read yet.
    pub fn unread(cluster: &Cluster) -> Self {
        Self::of(Some(Marks::default()), cluster)
    }

    /// The holder of the turn, if the two objects do not contradict each other.
    pub fn holder(&self) -> Option<&Turn> {
        match (&self.secret.turn, &self.cluster.turn) {
            (Holder::Of(turn), _) | (Holder::Nobody, Holder::Of(turn)) => Some(turn),
            _ => None,
        }
    }

    /// Whether either names this Machine as the holder of the turn.
    pub fn has_turn_of(&self, uid: &str) -> bool {
        self.secret.has_turn_of(uid) || self.cluster.has_turn_of(uid)
    }

    /// How they contradict each other, if they do.
    pub fn doubt(&self) -> Option<Doubt> {
        match (&self.secret.initialized, &self.cluster.initialized) {
            (Some(one), Some(other)) if one != other => {
                return Some(Doubt::TwoRecords(one.clone(), other.clone()));
            }
            // the control plane exists: no turn for `kubeadm init` means anything any more
            (_, Some(_)) => return self.later_doubt(),
            // its holder is about to write it on the Cluster
            (Some(by), None) if !self.is_recording(by) => {
                return Some(Doubt::RecordOnSecretOnly(by.clone()));
            }
            _ => (),
        }
        match (&self.secret.turn, &self.cluster.turn) {
            (Holder::Unreadable(text), _) => Some(Doubt::Unreadable(Side::Secret, text.clone())),
            (_, Holder::Unreadable(text)) => Some(Doubt::Unreadable(Side::Cluster, text.clone())),
            (Holder::Of(one), Holder::Of(other)) if !is_same(one, other) => {
                Some(Doubt::TwoHolders(one.clone(), other.clone()))
            }
            _ => None,
        }
    }

    /// The same, once the control plane exists.
    fn later_doubt(&self) -> Option<Doubt> {
        match &self.secret.turn {
            Holder::Unreadable(text) => Some(Doubt::Unreadable(Side::Secret, text.clone())),
            Holder::Nobody | Holder::Of(_) => None,
        }
    }

    fn is_recording(&self, by: &str) -> bool {
        let holder = self.holder();
        holder.is_some_and(|turn| turn.machine == by && turn.action == TurnAction::Init)
    }
}

fn is_same(one: &Turn, other: &Turn) -> bool {
    one.machine == other.machine && one.action == other.action
}

/// The next step to take or keep the turn: [`Step::Done`] permits what it is for.
pub fn take(both: &Both, wanted: &Turn) -> Step {
    if both.no_secret {
        return Step::NoSecret;
    }
    if let Some(doubt) = both.doubt() {
        return Step::InDoubt(doubt);
    }
    if let Some(step) = copy_record(both) {
        return step;
    }
    let recorded = [&both.cluster, &both.secret].map(|marks| marks.initialized.as_ref());
    match (wanted.action, recorded.into_iter().flatten().next()) {
        (TurnAction::Init, None) => (),
        (TurnAction::Init, Some(by)) => return Step::Initialized(by.clone()),
        (_, None) => return Step::NotInitialized,
        (_, Some(_)) => return take_later(both, wanted),
    }
    match (&both.secret.turn, &both.cluster.turn) {
        (Holder::Nobody, Holder::Of(turn)) => {
            Step::Write(Side::Secret, both.secret.with_turn(turn))
        }
        (Holder::Of(turn), _) if !is_same(turn, wanted) => Step::Blocked(turn.clone()),
        (Holder::Of(turn), Holder::Nobody) => {
            Step::Write(Side::Cluster, both.cluster.with_turn(turn))
        }
        (Holder::Of(_), Holder::Of(_)) => Step::Done,
        _ => Step::Write(Side::Secret, both.secret.with_turn(wanted)),
    }
}

/// The same, in a control plane that exists. The turn of an init that is recorded is free.
fn take_later(both: &Both, wanted: &Turn) -> Step {
    // what it holds for one action, a Machine may hold for the next
    let blocks = |turn: &Turn| turn.is_later() && turn.machine != wanted.machine;
    match (&both.secret.turn, &both.cluster.turn) {
        (Holder::Of(turn), other) if is_same(turn, wanted) => match other {
            Holder::Of(repeated) if is_same(repeated, wanted) => Step::Done,
            _ => Step::Write(Side::Cluster, both.cluster.with_turn(wanted)),
        },
        (Holder::Of(turn), _) if blocks(turn) => Step::Blocked(turn.clone()),
        // the Secret was made again, or restored
        (Holder::Nobody, Holder::Of(turn)) if blocks(turn) => {
            Step::Write(Side::Secret, both.secret.with_turn(turn))
        }
        _ => Step::Write(Side::Secret, both.secret.with_turn(wanted)),
    }
}

/// Whether a Machine has the turn that it was given; what one of the two lacks of it, or of the
/// record, is written.
pub fn hold(both: &Both, wanted: &Turn) -> Step {
    let is_own = |turn: &Holder| matches!(turn, Holder::Of(turn) if is_same(turn, wanted));
    let has_it = match &both.secret.turn {
        Holder::Nobody => is_own(&both.cluster.turn),
        secret => is_own(secret),
    };
    match take(both, wanted) {
        Step::Write(Side::Secret, _) if !has_it => Step::NotHeld,
        step => step,
    }
}

/// The next step to return the turn of a Machine that is proven to run no control plane, on both
/// objects.
pub fn give_back(both: &Both, uid: &str) -> Step {
    let (secret, cluster) = (&both.secret, &both.cluster);
    match (
        secret.has_turn_of(uid),
        cluster.has_turn_of(uid),
        &cluster.turn,
    ) {
        (false, true, Holder::Of(turn)) if secret.turn == Holder::Nobody && !both.no_secret => {
            Step::Write(Side::Secret, secret.with_turn(turn))
        }
        (_, true, _) => Step::Write(Side::Cluster, cluster.without_turn()),
        (true, false, _) => Step::Write(Side::Secret, secret.without_turn()),
        (false, false, _) => Step::Done,
    }
}

/// Whether a Machine has no turn to return, by what is known of both without a live read: that may
/// only be older than a turn that another process gave to this Machine.
pub fn is_returned(known: Option<&Both>, uid: &str) -> bool {
    known.is_some_and(|known| !known.has_turn_of(uid))
}

/// The next step to record that a Machine ran `kubeadm init`, which ends its turn.
pub fn record(both: &Both, uid: &str) -> Step {
    if both.no_secret {
        return Step::NoSecret;
    }
    let (secret, cluster) = (&both.secret, &both.cluster);
    for other in [&secret.initialized, &cluster.initialized]
        .into_iter()
        .flatten()
    {
        if other != uid {
            return Step::Initialized(other.clone());
        }
    }
    if secret.initialized.is_none() {
        return Step::Write(Side::Secret, secret.with_record(uid));
    }
    if cluster.initialized.is_none() {
        let recorded = cluster.with_record(uid);
        let recorded = if cluster.has_init_turn_of(uid) {
            recorded.without_turn()
        } else {
            recorded
        };
        return Step::Write(Side::Cluster, recorded);
    }
    end_turn(both, uid)
}

/// The next step to record what a host proves about a Machine that does not exist (any more). Not
/// while another Machine may be running `kubeadm init`: then a person has to find out which host it
/// is.
pub fn record_found(both: &Both, uid: &str) -> Step {
    match (both.doubt(), both.holder()) {
        // that is what the host answers
        (None | Some(Doubt::RecordOnSecretOnly(_)), None) => record(both, uid),
        (None | Some(Doubt::RecordOnSecretOnly(_)), Some(turn)) if turn.machine == uid => {
            record(both, uid)
        }
        (None | Some(Doubt::RecordOnSecretOnly(_)), Some(turn)) => Step::Blocked(turn.clone()),
        (Some(doubt), _) => Step::InDoubt(doubt),
    }
}

/// The next step that needs neither a turn nor a proof: copies to the Secret of what only the
/// Cluster has (as after an upgrade, or when the Secret was made again from a file), and the end of
/// a turn whose `kubeadm init` is recorded on both.
pub fn settle(both: &Both) -> Step {
    if both.no_secret || both.doubt().is_some() {
        return Step::Done;
    }
    if let Some(step) = copy_record(both) {
        return step;
    }
    if let Some(by) = &both.cluster.initialized {
        return match both.holder() {
            Some(turn) if turn.is_later() => copy_turn(both),
            _ => end_turn(both, by),
        };
    }
    copy_turn(both)
}

fn copy_turn(both: &Both) -> Step {
    match (&both.secret.turn, &both.cluster.turn) {
        (Holder::Nobody, Holder::Of(turn)) => {
            Step::Write(Side::Secret, both.secret.with_turn(turn))
        }
        _ => Step::Done,
    }
}

fn copy_record(both: &Both) -> Option<Step> {
    let by = both.cluster.initialized.as_ref()?;
    let is_missing = both.secret.initialized.is_none();
    is_missing.then(|| Step::Write(Side::Secret, both.secret.with_record(by)))
}

fn end_turn(both: &Both, uid: &str) -> Step {
    if both.cluster.has_init_turn_of(uid) {
        return Step::Write(Side::Cluster, both.cluster.without_turn());
    }
    if both.secret.has_init_turn_of(uid) {
        return Step::Write(Side::Secret, both.secret.without_turn());
    }
    Step::Done
}
