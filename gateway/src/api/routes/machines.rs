//! Machines.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::{StatusCode, header};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::Problem;
use crate::api::extract::{self, CheckedQuery, Id};
use crate::api::openapi::{Conflict, Failures, Full, Invalid, Missing};
use crate::api::types::{Code, Machine, MachineList, MachineRequest, PowerRequest};
use crate::app::App;
use crate::libvirt::Link;
use crate::machines::{self, MOST_BYTES};

/// All machines of this gateway, ordered by id, without domains that the gateway does not manage.
#[utoipa::path(
    get, path = "/v1/machines", tag = "machines",
    responses((status = 200, body = MachineList, description = "All machines."), Failures),
)]
pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<MachineList>, Problem> {
    let worker = app.clone();
    let items = app
        .libvirt
        .run(move |link: &Link| machines::list(&worker, link))
        .await?;
    Ok(Json(MachineList { items }))
}

/// Creates a machine and starts it. Idempotent: it is created once, and an interrupted creation is
/// completed. The seed is used only when the machine is created.
#[utoipa::path(
    put, path = "/v1/machines/{id}", tag = "machines",
    params(("id" = uuid::Uuid, Path, description = "UUID of the machine, chosen by the caller.")),
    request_body = MachineRequest,
    responses(
        (status = 200, body = Machine, description = "The machine exists, with the same spec."),
        (status = 201, body = Machine, description = "The machine was created and started."),
        Invalid, Conflict, Full, Failures,
    ),
)]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Id(id): Id,
    extract::Json(request): extract::Json<MachineRequest>,
) -> Result<impl IntoResponse, Problem> {
    let made = app
        .change(id, move |app, link| {
            machines::create(app, link, id, &request)
        })
        .await?;
    if made.now {
        tracing::info!(%id, name = made.machine.spec.name, "created a machine");
        app.hub.nudge();
    }
    let status = if made.now {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(made.machine)))
}

/// One machine.
#[utoipa::path(
    get, path = "/v1/machines/{id}", tag = "machines",
    params(("id" = uuid::Uuid, Path, description = "UUID of the machine.")),
    responses((status = 200, body = Machine, description = "It."), Missing, Invalid, Failures),
)]
pub(super) async fn read(
    State(app): State<Arc<App>>,
    Id(id): Id,
) -> Result<Json<Machine>, Problem> {
    let worker = app.clone();
    let read = app
        .libvirt
        .run(move |link: &Link| machines::one(&worker, link, id));
    Ok(Json(read.await?))
}

/// Deletes a machine: its domain, volumes, seed and console log. Idempotent: 204 also if it is
/// partly or completely deleted. 409 `PoolInactive` while one of its storage pools is not active.
#[utoipa::path(
    delete, path = "/v1/machines/{id}", tag = "machines",
    params(("id" = uuid::Uuid, Path, description = "UUID of the machine.")),
    responses((status = 204, description = "The machine does not exist any more."), Conflict, Invalid, Failures),
)]
pub(super) async fn delete(State(app): State<Arc<App>>, Id(id): Id) -> Result<StatusCode, Problem> {
    app.change(id, move |app, link| machines::delete(app, link, id))
        .await?;
    app.hub.nudge();
    Ok(StatusCode::NO_CONTENT)
}

/// Changes a machine's power state. Idempotent: a machine that is already in the state is not an
/// error.
#[utoipa::path(
    post, path = "/v1/machines/{id}/power", tag = "machines",
    params(("id" = uuid::Uuid, Path, description = "UUID of the machine.")),
    request_body = PowerRequest,
    responses((status = 204, description = "The action was executed."), Missing, Conflict, Invalid, Failures),
)]
pub(super) async fn power(
    State(app): State<Arc<App>>,
    Id(id): Id,
    extract::Json(request): extract::Json<PowerRequest>,
) -> Result<StatusCode, Problem> {
    let action = request.action;
    app.change(id, move |_, link| machines::power(link, id, action))
        .await?;
    app.hub.nudge();
    Ok(StatusCode::NO_CONTENT)
}

/// Detaches a machine's seed and deletes it. Idempotent: 204 also if it does not exist. 409
/// `SeedBusy` until the guest releases it, `PoolInactive` while its storage pool is not active.
#[utoipa::path(
    delete, path = "/v1/machines/{id}/seed", tag = "machines",
    params(("id" = uuid::Uuid, Path, description = "UUID of the machine.")),
    responses((status = 204, description = "The seed does not exist any more."), Missing, Conflict, Invalid, Failures),
)]
pub(super) async fn remove_seed(
    State(app): State<Arc<App>>,
    Id(id): Id,
) -> Result<StatusCode, Problem> {
    app.change(id, move |app, link| machines::remove_seed(app, link, id))
        .await?;
    app.hub.nudge();
    Ok(StatusCode::NO_CONTENT)
}

/// Size of the returned end of a console log.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Tail {
    /// Number of bytes; at most 1 MiB.
    #[serde(default = "some_bytes")]
    #[param(default = 65_536, minimum = 0, maximum = 1_048_576)]
    bytes: u64,
}

fn some_bytes() -> u64 {
    1 << 16
}

/// The end of a machine's serial console log.
#[utoipa::path(
    get, path = "/v1/machines/{id}/console", tag = "machines",
    params(("id" = uuid::Uuid, Path, description = "UUID of the machine."), Tail),
    responses(
        (status = 200, body = String, content_type = "text/plain", description = "The last bytes."),
        Missing, Invalid, Failures,
    ),
)]
pub(super) async fn console(
    State(app): State<Arc<App>>,
    Id(id): Id,
    CheckedQuery(Tail { bytes }): CheckedQuery<Tail>,
) -> Result<impl IntoResponse, Problem> {
    if bytes > MOST_BYTES {
        let detail = format!("bytes {bytes} is out of range; it must be 0 to {MOST_BYTES}");
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::BadSpec,
            detail,
        ));
    }
    let tail = app
        .libvirt
        .run(move |link: &Link| machines::console(link, id, bytes))
        .await?;
    // the content is untrusted guest output: browsers must not render it as HTML
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, String::from_utf8_lossy(&tail).into_owned()))
}
