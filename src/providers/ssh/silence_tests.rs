use serde_json::json;

use super::*;

/// The Machine's time limit counts from the first failed contact, whatever its cause.
#[test]
fn a_host_that_hangs_is_as_silent_as_one_that_is_off() {
    for reason in ["SshUnreachable", "HostHangs", "HostKeyChanged"] {
        let reachable = json!({"type": "Reachable", "status": "False", "reason": reason, "message": "",
            "lastTransitionTime": "2027-01-15T08:00:00Z"});
        let host = json!({"apiVersion": "tatara.dev/v1alpha1", "kind": "Host", "metadata": {"name": "h0"},
            "spec": {"ssh": {"address": "192.0.2.10", "credentialsRef": {"name": "key"}}},
            "status": {"conditions": [reachable]}});
        let since = "2027-01-15T08:00:00Z".parse().expect("a time");
        let host = serde_json::from_value(host).expect("a Host");
        assert_eq!(stuck(&host), Some(Stuck::Silent(since)), "{reason}");
    }
}
