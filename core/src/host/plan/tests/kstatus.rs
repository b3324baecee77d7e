//! What programs that know no Host make of its conditions.

use super::*;
use crate::kstatus::tests::check;

#[test]
fn a_host_that_is_as_asked_one_on_its_way_and_one_that_needs_a_person() {
    let found = |observed: &Observed| plan(observed, at(0)).findings;
    let saying = |change: &Value| of(STAYING, saying(change, Ownership::Nobody));
    let silent = |change: &Value, reason, transient| {
        let error = ContactError {
            reason,
            message: "why".into(),
            transient,
        };
        of(STAYING, observed(change, Contact::Failed(error)))
    };
    let nothing = json!({});
    let claimed = of(
        STAYING,
        self::saying(&claim("m", false), marked("here", "m")),
    );
    let releasing = with_unit(
        self::saying(&claim("m", true), marked("here", "m")),
        JobKind::Reset,
        UnitState::Running(step()),
    );
    let maintenance = json!({ "spec": { "maintenance": true } });
    let paused = json!({ "metadata": { "annotations": { (ANNOTATION_PAUSED): "" } } });
    let off_by_policy = super::power::resting();
    check(&[
        (
            "no answer yet",
            &found(&silent(&nothing, Reason::SshUnreachable, true)),
            "InProgress",
        ),
        (
            "its Secret may come",
            &found(&silent(&nothing, Reason::CredentialMissing, false)),
            "InProgress",
        ),
        (
            "its Secret is no key",
            &found(&silent(&nothing, Reason::CredentialMalformed, false)),
            "Failed",
        ),
        ("free", &found(&saying(&nothing)), "Current"),
        ("in use", &found(&claimed), "Current"),
        (
            "in use, and away",
            &found(&silent(&claim("m", false), Reason::SshUnreachable, true)),
            "InProgress",
        ),
        ("being reset", &found(&releasing), "InProgress"),
        (
            "off while it is free, as asked",
            &found(&off_by_policy),
            "Current",
        ),
        ("another's", &found(&occupied(saying(&nothing))), "Failed"),
        ("kept back", &found(&saying(&maintenance)), "Current"),
        ("held still", &found(&saying(&paused)), "Current"),
    ]);
}
