//! Routes.

mod capacity;
mod events;
mod images;
mod machines;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::types::{Code, LONGEST_REQUEST};
use super::{Problem, openapi};
use crate::app::App;
use crate::auth::{self, Guard};

/// All routes, with their API description.
pub(super) fn described() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(openapi::frame())
        .routes(routes!(openapi::openapi))
        .routes(routes!(capacity::capacity))
        .routes(routes!(machines::list))
        .routes(routes!(machines::create, machines::read, machines::delete))
        .routes(routes!(machines::power))
        .routes(routes!(machines::remove_seed))
        .routes(routes!(machines::console))
        .routes(routes!(images::list))
        .routes(routes!(images::fetch, images::read, images::delete))
        .routes(routes!(events::events))
}

/// The complete API behind authentication, including the API description and unknown paths.
pub fn router(app: Arc<App>, guard: Arc<Guard>) -> Router {
    let (router, _) = described().split_for_parts();
    router
        .fallback(|| async { Problem::new(StatusCode::NOT_FOUND, Code::NoSuchPath, NO_PATH) })
        .method_not_allowed_fallback(|| async {
            Problem::new(
                StatusCode::METHOD_NOT_ALLOWED,
                Code::NoSuchMethod,
                NO_METHOD,
            )
        })
        .layer(DefaultBodyLimit::max(LONGEST_REQUEST))
        .layer(axum::middleware::from_fn_with_state(guard, auth::check))
        .layer(axum::middleware::from_fn(crate::server::log))
        .with_state(app)
}

const NO_PATH: &str = "this path does not exist; /openapi.json lists all paths";
const NO_METHOD: &str = "this path does not support the method; /openapi.json lists all methods";
