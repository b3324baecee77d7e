//! Images.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::IntoResponse;
use http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::Problem;
use crate::api::extract::{self, CheckedQuery, Checksum};
use crate::api::openapi::{Conflict, Failures, Invalid, Missing};
use crate::api::types::{DEFAULT_POOL, Image, ImageList, ImageRequest, ImageState};
use crate::app::App;
use crate::images;
use crate::libvirt::Link;

/// Location of an image.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Place {
    /// Storage pool.
    #[serde(default = "default_pool")]
    #[param(default = "default")]
    pool: String,
}

fn default_pool() -> String {
    DEFAULT_POOL.to_owned()
}

/// All images of this gateway.
#[utoipa::path(
    get, path = "/v1/images", tag = "images",
    responses((status = 200, body = ImageList, description = "All images."), Failures),
)]
pub(super) async fn list(State(app): State<Arc<App>>) -> Result<Json<ImageList>, Problem> {
    let worker = app.clone();
    let items = app
        .libvirt
        .run(move |link: &Link| images::list(&worker, link))
        .await?;
    Ok(Json(ImageList { items }))
}

/// Downloads an image into a pool, once, and verifies its SHA-256. A failed download is retried.
/// 409 `ImageDiffers` when the image exists in another format.
#[utoipa::path(
    put, path = "/v1/images/{sha256}", tag = "images",
    params(("sha256" = String, Path, pattern = "^[0-9a-f]{64}$", description = "SHA-256 of the file.")),
    request_body = ImageRequest,
    responses(
        (status = 200, body = Image, description = "The image is ready."),
        (status = 202, body = Image, description = "The image is being downloaded."),
        Conflict, Invalid, Failures,
    ),
)]
pub(super) async fn fetch(
    State(app): State<Arc<App>>,
    Checksum(sha256): Checksum,
    extract::Json(request): extract::Json<ImageRequest>,
) -> Result<impl IntoResponse, Problem> {
    let image = images::request(&app, sha256, request).await?;
    app.hub.nudge();
    let ready = image.state == ImageState::Ready;
    Ok((
        if ready {
            StatusCode::OK
        } else {
            StatusCode::ACCEPTED
        },
        Json(image),
    ))
}

/// One image.
#[utoipa::path(
    get, path = "/v1/images/{sha256}", tag = "images",
    params(("sha256" = String, Path, pattern = "^[0-9a-f]{64}$", description = "SHA-256 of the file."), Place),
    responses((status = 200, body = Image, description = "It."), Missing, Invalid, Failures),
)]
pub(super) async fn read(
    State(app): State<Arc<App>>,
    Checksum(sha256): Checksum,
    CheckedQuery(Place { pool }): CheckedQuery<Place>,
) -> Result<Json<Image>, Problem> {
    let worker = app.clone();
    let read = app
        .libvirt
        .run(move |link: &Link| images::one(&worker, link, &pool, &sha256));
    Ok(Json(read.await?))
}

/// Deletes an image. Idempotent: 204 also if it does not exist. 409 `ImageInUse` while a disk is
/// based on it.
#[utoipa::path(
    delete, path = "/v1/images/{sha256}", tag = "images",
    params(("sha256" = String, Path, pattern = "^[0-9a-f]{64}$", description = "SHA-256 of the file."), Place),
    responses((status = 204, description = "The image does not exist any more."), Conflict, Invalid, Failures),
)]
pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Checksum(sha256): Checksum,
    CheckedQuery(Place { pool }): CheckedQuery<Place>,
) -> Result<StatusCode, Problem> {
    let worker = app.clone();
    app.libvirt
        .run(move |link: &Link| images::delete(&worker, link, &pool, &sha256))
        .await?;
    app.hub.nudge();
    Ok(StatusCode::NO_CONTENT)
}
