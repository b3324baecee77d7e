//! What conditions say.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use tatara_core::api::Host;

pub fn of_host(host: &Host) -> &[Condition] {
    let status = host.status.as_ref();
    status.map(|s| s.conditions.as_slice()).unwrap_or_default()
}

pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    conditions
        .iter()
        .any(|c| c.type_ == type_ && c.status == "True")
}

/// "STATUS/REASON: MESSAGE"; empty where there is no such condition.
pub fn said(conditions: &[Condition], type_: &str) -> String {
    let condition = conditions.iter().find(|c| c.type_ == type_);
    condition.map_or_else(String::new, |c| {
        format!("{}/{}: {}", c.status, c.reason, c.message)
    })
}
