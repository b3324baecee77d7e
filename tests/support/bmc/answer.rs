//! What the simulated BMC answers.

use std::sync::{Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use serde_json::{Value, json};

use super::{State, USER, UUID};

pub fn answer(
    state: &Mutex<State>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &Bytes,
) -> Response {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let path = uri.path().trim_end_matches('/');
    state.requests.push(format!("{method} {path}"));
    if state.busy > 0 {
        state.busy -= 1;
        return error(503, "try again later");
    }
    if let Some(to) = &state.redirects {
        return (StatusCode::TEMPORARY_REDIRECT, [("Location", to.clone())]).into_response();
    }
    if state.floods {
        return vec![b' '; (1 << 20) + 1].into_response();
    }
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    if path == "/redfish/v1" {
        return ok(&root(&state));
    }
    if *method == Method::POST && path.ends_with("/SessionService/Sessions") {
        return session(&mut state, &body);
    }
    if let Some(refusal) = refusal(&mut state, headers) {
        return refusal;
    }
    let parts: Vec<&str> = path.trim_start_matches("/redfish/v1/").split('/').collect();
    match (method.as_str(), parts.as_slice()) {
        ("DELETE", ["SessionService", "Sessions", id]) => {
            let known = state.sessions.remove(*id);
            if known {
                empty()
            } else {
                error(404, "no such session")
            }
        }
        ("GET", ["Systems"]) => ok(&members("Systems", &state.systems)),
        ("GET", ["Systems", id]) if state.systems.contains(id) => system(&mut state, id),
        ("PATCH", ["Systems", _]) => change(&mut state, headers, &body),
        ("GET", ["Systems", _, "ResetActionInfo"]) => ok(&json!({"Parameters": [
            {"Name": "ResetType", "AllowableValues": state.reset_types}]})),
        ("POST", ["Systems", _, "Actions", "ComputerSystem.Reset"]) => reset(&mut state, &body),
        ("GET", ["TaskService", "Monitor"]) => task(&mut state),
        ("GET", ["Managers"]) => ok(&members("Managers", &["bmc"])),
        ("GET", ["Managers", "bmc"]) => {
            ok(&json!({"VirtualMedia": link("Managers/bmc/VirtualMedia")}))
        }
        (method, [under, _, "VirtualMedia", rest @ ..]) if *under == state.media_under => {
            media(&mut state, method, rest, &body)
        }
        _ => error(404, "nothing here"),
    }
}

fn root(state: &State) -> Value {
    let mut root = json!({"@odata.id": "/redfish/v1/", "Systems": link("Systems"), "Managers": link("Managers")});
    if state.has_sessions {
        root["SessionService"] = link("SessionService");
        if state.has_links {
            root["Links"] = json!({"Sessions": link("SessionService/Sessions")});
        }
    }
    root
}

fn session(state: &mut State, body: &Value) -> Response {
    if !state.has_sessions {
        return error(404, "no SessionService");
    }
    if let Some(status) = state.refuses_sessions {
        return error(status, "no session now");
    }
    if body["UserName"] != USER || body["Password"] != state.password.as_str() {
        state.refused_logins += 1;
        return error(401, &format!("wrong password {}", body["Password"]));
    }
    if state.sessions.len() >= state.session_room {
        return error(503, "SessionLimitExceeded");
    }
    state.logins += 1;
    let token = format!("t{}", state.logins);
    state.sessions.insert(token.clone());
    let location = format!("/redfish/v1/SessionService/Sessions/{token}");
    let headers = [("X-Auth-Token", token), ("Location", location)];
    (StatusCode::CREATED, headers, "{}").into_response()
}

/// Why a request is not let in.
fn refusal(state: &mut State, headers: &HeaderMap) -> Option<Response> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(token) = header("X-Auth-Token") {
        let known = state.sessions.contains(token);
        return (!known).then(|| error(401, "no such session"));
    }
    let wanted = format!("{USER}:{}", state.password);
    let wanted = base64::engine::general_purpose::STANDARD.encode(wanted);
    if header("Authorization") == Some(&format!("Basic {wanted}")) {
        state.logins += 1;
        return None;
    }
    state.refused_logins += 1;
    Some(error(401, "wrong password"))
}

fn system(state: &mut State, id: &str) -> Response {
    if let Some((looks, power)) = state.pending.take() {
        if looks == 0 {
            become_so(state, &power);
        } else {
            state.pending = Some((looks - 1, power));
        }
    }
    let target = format!("/redfish/v1/Systems/{id}/Actions/ComputerSystem.Reset");
    let mut action = json!({ "target": target });
    if state.action_info {
        action["@Redfish.ActionInfo"] = format!("/redfish/v1/Systems/{id}/ResetActionInfo").into();
    } else {
        action["ResetType@Redfish.AllowableValues"] = json!(state.reset_types);
    }
    let mut system = json!({
        "@odata.id": format!("/redfish/v1/Systems/{id}"), "Id": id, "UUID": UUID, "SerialNumber": format!("S{id}"),
        "PowerState": state.power, "MemorySummary": null, "ProcessorSummary": {"Count": "2"},
        "Boot": {"BootSourceOverrideEnabled": state.boot.0, "BootSourceOverrideTarget": state.boot.1,
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "Cd", "Hdd"]},
        "Actions": {"#ComputerSystem.Reset": action},
    });
    if state.has_links && state.media_under == "Managers" {
        system["Links"] = json!({"ManagedBy": [link("Managers/bmc")]});
    }
    if state.media_under == "Systems" {
        system["VirtualMedia"] = link(&format!("Systems/{id}/VirtualMedia"));
    }
    let etag = state.version.to_string();
    if state.has_etags {
        (StatusCode::OK, [("ETag", etag)], system.to_string()).into_response()
    } else {
        ok(&system)
    }
}

fn change(state: &mut State, headers: &HeaderMap, body: &Value) -> Response {
    if state.meddler > 0 {
        state.meddler -= 1;
        state.version += 1;
    }
    let matched = headers
        .get("If-Match")
        .and_then(|value| value.to_str().ok());
    match (matched, state.has_etags) {
        (None, true) => return error(428, "If-Match is missing"),
        (Some(_), false) => return error(400, "If-Match without an ETag"),
        (Some(version), true) if version != state.version.to_string() => {
            return error(412, "changed by somebody else");
        }
        _ => {}
    }
    state.version += 1;
    let said = |name: &str| body["Boot"][name].as_str().map(str::to_owned);
    if let (Some(enabled), Some(target)) = (
        said("BootSourceOverrideEnabled"),
        said("BootSourceOverrideTarget"),
    ) {
        let kept = if state.keeps_once && enabled == "Once" {
            "Continuous".into()
        } else {
            enabled
        };
        state.boot = (kept, target);
    }
    accepted(state)
}

fn reset(state: &mut State, body: &Value) -> Response {
    if let Some((status, text)) = state.refuses_power {
        return error(status, text);
    }
    let power = match body["ResetType"].as_str() {
        Some("On" | "ForceOn" | "ForceRestart" | "PowerCycle") => "On",
        Some("ForceOff" | "GracefulShutdown") => "Off",
        _ => return empty(),
    };
    if !state.lies {
        if state.delay == 0 {
            become_so(state, power);
        } else {
            state.pending = Some((state.delay, power.into()));
        }
    }
    accepted(state)
}

fn become_so(state: &mut State, power: &str) {
    let image = state.image.clone().filter(|_| state.boot.1 == "Cd");
    if power == "On" && state.boot.0 == "Once" {
        state.boot = ("Disabled".into(), "None".into());
    }
    let was_off = state.power == "Off";
    state.power = power.into();
    if let (Some(on_image), Some(image), "On", true) = (&state.on_image, image, power, was_off) {
        on_image(&image);
    } else if let Some(on_power) = &state.on_power {
        on_power(power);
    }
}

/// 204, or 202 with a task.
fn accepted(state: &mut State) -> Response {
    if !state.has_tasks {
        return empty();
    }
    state.running = Some(state.task.0);
    let headers = [
        ("Location", "/redfish/v1/TaskService/Monitor"),
        ("Retry-After", "0"),
    ];
    (StatusCode::ACCEPTED, headers, "{}").into_response()
}

fn task(state: &mut State) -> Response {
    match state.running {
        None => error(404, "no task"),
        Some(0) => {
            state.running = None;
            ok(&json!({"TaskState": state.task.1, "Messages": [{"Message": "as it was told"}]}))
        }
        Some(left) => {
            state.running = Some(left - 1);
            (StatusCode::ACCEPTED, "").into_response()
        }
    }
}

fn media(state: &mut State, method: &str, rest: &[&str], body: &Value) -> Response {
    let at = |end: &str| match state.media_under {
        "Systems" => format!("Systems/1/VirtualMedia{end}"),
        _ => format!("Managers/bmc/VirtualMedia{end}"),
    };
    match (method, rest) {
        ("GET", []) => ok(&json!({"Members": [link(&at("/Floppy")), link(&at("/Cd"))]})),
        ("GET", ["Floppy"]) => ok(&json!({"Id": "Floppy", "MediaTypes": ["Floppy"]})),
        ("GET", ["Cd"]) => ok(&json!({"Id": "Cd", "MediaTypes": ["CD", "DVD"],
        "Inserted": state.image.is_some(), "Image": state.image,
        "Actions": {
            "#VirtualMedia.InsertMedia": {"target": format!("/redfish/v1/{}", at("/Cd/Actions/Insert"))},
            "#VirtualMedia.EjectMedia": {"target": format!("/redfish/v1/{}", at("/Cd/Actions/Eject"))},
        }})),
        ("POST", ["Cd", "Actions", "Insert"]) if state.image.is_some() => {
            error(409, "something is inserted")
        }
        ("POST", ["Cd", "Actions", "Insert"]) if state.refuses_media => {
            error(400, &format!("cannot fetch {}", body["Image"]))
        }
        ("POST", ["Cd", "Actions", "Insert"]) => match body["Image"].as_str() {
            Some(image) if image.starts_with("http") => {
                state.image = Some(image.into());
                state.images.push(image.into());
                accepted(state)
            }
            _ => error(400, "the image cannot be fetched"),
        },
        ("POST", ["Cd", "Actions", "Eject"]) => {
            state.image = None;
            accepted(state)
        }
        _ => error(404, "nothing here"),
    }
}

fn link(path: &str) -> Value {
    json!({ "@odata.id": format!("/redfish/v1/{path}") })
}

fn members(of: &str, ids: &[&str]) -> Value {
    let links: Vec<Value> = ids.iter().map(|id| link(&format!("{of}/{id}"))).collect();
    json!({ "Members": links })
}

fn ok(body: &Value) -> Response {
    (StatusCode::OK, body.to_string()).into_response()
}

fn empty() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Errors are plain text with some BMCs.
fn error(status: u16, text: &str) -> Response {
    let status = StatusCode::from_u16(status).expect("a status");
    (status, text.to_owned()).into_response()
}
