//! Changes, as server-sent events.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, StreamExt};
use serde::Serialize;
use serde_json::json;

use crate::api::Problem;
use crate::api::openapi::Failures;
use crate::api::types::event::{self, ImageGone, MachineGone};
use crate::app::App;
use crate::auth::Pass;
use crate::events::{Change, StreamEvent, listen};

/// Streams first all objects as events `machine`, `image` and `capacity`; then `synced`; then
/// changes: `machine`, `machine-gone` (`{"id"}`), `image`, `image-gone` (`{"sha256","pool"}`),
/// `capacity`. A keep-alive comment follows every 15 s without an event. The stream ends when
/// libvirt does not answer: reconnect. It ends before the next event when the request's token has
/// expired or is revoked.
#[utoipa::path(
    get, path = "/v1/events", tag = "events",
    responses(
        (status = 200, body = String, content_type = "text/event-stream", description = "Changes, without end."),
        Failures,
    ),
)]
pub(super) async fn events(
    State(app): State<Arc<App>>,
    Extension(pass): Extension<Pass>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let heard = listen(app).await?;
    let heard = heard.take_while(move |_| ready(pass.is_good()));
    let heard = heard.map(|heard| Ok(told(&heard)));
    Ok(Sse::new(heard).keep_alive(KeepAlive::new().interval(event::KEEP_ALIVE)))
}

fn told(heard: &StreamEvent) -> Event {
    match heard {
        StreamEvent::Change(Change::Machine(machine)) => named(event::MACHINE, &**machine),
        StreamEvent::Change(Change::MachineGone(id)) => {
            let id = id.to_string();
            named(event::MACHINE_GONE, &MachineGone { id })
        }
        StreamEvent::Change(Change::Image(image)) => named(event::IMAGE, &**image),
        StreamEvent::Change(Change::ImageGone { pool, sha256 }) => {
            let (pool, sha256) = (pool.clone(), sha256.clone());
            named(event::IMAGE_GONE, &ImageGone { pool, sha256 })
        }
        StreamEvent::Change(Change::Capacity(capacity)) => named(event::CAPACITY, &**capacity),
        StreamEvent::Synced => named(event::SYNCED, &json!({})),
    }
}

fn named(name: &str, data: &impl Serialize) -> Event {
    // serialized JSON contains no line breaks, which would end the SSE data field
    Event::default()
        .event(name)
        .data(serde_json::to_string(data).unwrap_or_default())
}
