//! How the records of a Cluster are to be corrected, and what is written for it, one write after
//! another. Pure.

use tatara_core::control_plane::turn::{Both, Holder, Marks, Side};

/// How they are to be corrected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// The Machine of this UID is recorded as the one that ran `kubeadm init`.
    MadeBy(String),
    /// A turn that cannot be read is removed.
    ReturnUnreadable,
}

/// The next of the two to be written, and what it has then; nothing once all is as is wished. A
/// record goes to the Secret first, and a turn goes from the Cluster first, as the manager does it.
pub fn next(both: &Both, wish: &Wish) -> Option<(Side, Marks)> {
    let all = [(Side::Secret, &both.secret), (Side::Cluster, &both.cluster)];
    match wish {
        Wish::MadeBy(uid) => {
            let mut all = all.into_iter();
            let (side, marks) = all.find(|(_, marks)| marks.initialized.as_ref() != Some(uid))?;
            let mut marks = marks.clone();
            marks.initialized = Some(uid.clone());
            Some((side, marks))
        }
        Wish::ReturnUnreadable => {
            let mut all = all.into_iter().rev();
            let (side, marks) =
                all.find(|(_, marks)| matches!(marks.turn, Holder::Unreadable(_)))?;
            let mut marks = marks.clone();
            marks.turn = Holder::Nobody;
            Some((side, marks))
        }
    }
}

/// Whether only the manager's account may write that: admission lets others add what is missing,
/// and remove what cannot be read.
fn is_managers(from: &Marks, to: &Marks) -> bool {
    from.initialized.is_some() && from.initialized != to.initialized
}

/// The same, of all that is written until all is as is wished.
pub fn needs_manager(both: &Both, wish: &Wish) -> bool {
    let mut both = both.clone();
    while let Some((side, to)) = next(&both, wish) {
        let from = of_side(&both, side);
        if is_managers(from, &to) {
            return true;
        }
        both = with(&both, side, to);
    }
    false
}

/// Turn and record on one of the two.
pub fn of_side(both: &Both, side: Side) -> &Marks {
    match side {
        Side::Secret => &both.secret,
        Side::Cluster => &both.cluster,
    }
}

/// Both, once that is written.
pub fn with(both: &Both, side: Side, to: Marks) -> Both {
    let mut both = both.clone();
    match side {
        Side::Secret => both.secret = to,
        Side::Cluster => both.cluster = to,
    }
    both
}

#[cfg(test)]
#[path = "wish_tests.rs"]
mod tests;
