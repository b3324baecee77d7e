//! One log line per request, with the path but without query, headers and body.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

use crate::api::types::Code;
use crate::clock;

/// Logs a request after its response: successful reads at level debug, the rest at info.
pub async fn log(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let began = clock::instant();
    let response = next.run(request).await;
    let status = response.status().as_u16();
    let took_ms = clock::instant().duration_since(began).as_millis();
    let code = response
        .extensions()
        .get::<Code>()
        .map_or("", |code| code.as_str());
    if method.is_safe() && status < 400 {
        tracing::debug!(%method, path, status, took_ms, "answered a request");
    } else {
        tracing::info!(%method, path, status, took_ms, code, "answered a request");
    }
    response
}
