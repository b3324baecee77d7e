//! Whether the virtual machine of an abandoned Machine is deleted, by what was read just before,
//! and what came of it.

use std::fmt::Display;

use crate::api::conditions::{ConditionType, Finding, Reason};
use crate::hypervisor::plan::NOT_OURS;
use crate::proof::{Ended, Proof};
use crate::wire::Machine as VirtualMachine;

/// Label of a virtual machine: UID of the management cluster that created it.
pub const LABEL_MANAGEMENT: &str = "management";

/// Whether the management cluster of this UID created a virtual machine. If that cannot be read, it
/// did not.
pub fn is_ours(shown: &VirtualMachine, management: &str) -> bool {
    let label = shown.spec.labels.get(LABEL_MANAGEMENT);
    label.is_some_and(|label| label == management)
}

/// Whether the abandoned Machine of this UID exists: the store has it, in any namespace, or it has
/// its name (`live` is the UID of the one that was read). Then its own deletion continues.
pub fn exists(uid: &str, is_stored: bool, live: Option<&str>) -> bool {
    is_stored || live == Some(uid)
}

/// Requires that what the gateway shows under the UID of an abandoned Machine is a virtual machine
/// of ours, or nothing.
///
/// # Errors
/// It is another's, or the gateway does not tell.
pub fn may_delete<E: Display>(
    shown: Result<Option<&VirtualMachine>, E>,
    management: &str,
) -> Result<(), String> {
    match shown.map_err(|error| error.to_string())? {
        Some(shown) if !is_ours(shown, management) => Err(NOT_OURS.into()),
        _ => Ok(()),
    }
}

/// What proves that the virtual machine has ended: the gateway deleted it, and shows it no more.
///
/// # Errors
/// Why nothing does.
pub fn ended<E: Display>(
    uid: &str,
    deleted: &Result<(), E>,
    shown: Result<bool, E>,
) -> Result<Ended, String> {
    if let Err(error) = deleted {
        return Err(error.to_string());
    }
    if shown.map_err(|error| error.to_string())? {
        return Err("the gateway shows it after its deletion".into());
    }
    let proof = Proof::of_gateway(uid, deleted);
    let ended = proof.as_ref().and_then(Ended::from);
    ended.ok_or_else(|| "it is not ended".into())
}

/// Why the virtual machine of an abandoned Machine is not deleted yet.
pub fn not_ended(why: String) -> Finding {
    Finding::no(ConditionType::MachinesKnown, Reason::EndingGivenUp, why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(management: Option<&str>) -> VirtualMachine {
        let labels = match management {
            Some(management) => json!({ (LABEL_MANAGEMENT): management }),
            None => json!({}),
        };
        let shown =
            json!({"id": "u", "spec": {"name": "vm", "labels": labels}, "state": "running"});
        serde_json::from_value(shown).expect("a virtual machine")
    }

    #[test]
    fn only_a_virtual_machine_that_this_management_cluster_made_is_deleted() {
        let silent = || Err("no answer".to_owned());
        let (own, other, unlabelled) = (shown(Some("me")), shown(Some("you")), shown(None));
        for (case, shown, expected) in [
            ("ours", Ok(Some(&own)), Ok(())),
            ("none", Ok(None), Ok(())),
            ("another's", Ok(Some(&other)), Err(NOT_OURS)),
            ("unlabelled", Ok(Some(&unlabelled)), Err(NOT_OURS)),
            ("silent", silent(), Err("no answer")),
        ] {
            let may = may_delete(shown, "me");
            assert_eq!(may, expected.map_err(str::to_owned), "{case}");
        }
    }

    #[test]
    fn a_machine_that_is_stored_or_read_under_its_name_ends_by_itself() {
        for (is_stored, live, expected) in [
            (false, None, false),
            (true, None, true),
            (false, Some("u"), true),
            (false, Some("made again"), false),
        ] {
            assert_eq!(exists("u", is_stored, live), expected, "{live:?}");
        }
    }

    #[test]
    fn a_virtual_machine_has_ended_once_it_is_deleted_and_shown_no_more() {
        let no = || Err("no".to_owned());
        for (case, deleted, shown, is_ended) in [
            ("deleted", Ok(()), Ok(false), true),
            ("refused", no(), Ok(false), false),
            ("shown", Ok(()), Ok(true), false),
            ("silent after", Ok(()), Err("no".to_owned()), false),
        ] {
            let ended = ended("u", &deleted, shown);
            assert_eq!(ended.is_ok(), is_ended, "{case}: {ended:?}");
            assert!(ended.is_ok_and(|ended| ended.is_about("u")) == is_ended);
        }
    }
}
