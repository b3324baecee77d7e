//! Capacity of the hypervisor.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;

use crate::api::Problem;
use crate::api::openapi::Failures;
use crate::api::types::Capacity;
use crate::app::App;
use crate::libvirt::{Link, capacity as libvirt_capacity};

/// Capacity of the hypervisor, and how much of it is allocated.
#[utoipa::path(
    get, path = "/v1/capacity", tag = "hypervisor",
    responses((status = 200, body = Capacity, description = "The capacity."), Failures),
)]
pub(super) async fn capacity(State(app): State<Arc<App>>) -> Result<Json<Capacity>, Problem> {
    let limits = app.limits;
    let read = app
        .libvirt
        .run(move |link: &Link| libvirt_capacity::read(link, limits));
    Ok(Json(read.await?))
}
