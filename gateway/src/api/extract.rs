//! Extractors of requests. An invalid request is rejected with a problem that names the field.

use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use bytes::Bytes;
use http::request::Parts;
use http::{StatusCode, header};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::Problem;
use super::types::Code;

/// A JSON body. An unknown field is rejected: it would be ignored silently otherwise.
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request
            .headers()
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok());
        let kind = kind
            .and_then(|kind| kind.split(';').next())
            .unwrap_or_default()
            .trim();
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                Code::UnsupportedMediaType,
                "the body must be JSON; send `content-type: application/json`",
            ));
        }
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(|error| unread(&error))?;
        parse(&bytes).map(Self)
    }
}

/// Parses a complete JSON document.
///
/// # Errors
/// A [`Problem`]: `BadRequest` for malformed JSON, `BadSpec` for an invalid value, `UnknownField`
/// for an unknown field.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut unknown = None;
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let mut note = |path: serde_ignored::Path<'_>| {
        unknown.get_or_insert_with(|| path.to_string());
    };
    let known = serde_ignored::Deserializer::new(&mut json, &mut note);
    let value = serde_path_to_error::deserialize(known);
    let value = value.map_err(|error| misread(&error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| misread(".", &error))?;
    match unknown {
        None => Ok(value),
        Some(field) => Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            Code::UnknownField,
            format!(
                "{field} is not a field of this gateway's API; omit it, or upgrade the gateway"
            ),
        )),
    }
}

fn unread(error: &BytesRejection) -> Problem {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        let detail = "the body is larger than 1 MiB; send less user-data";
        return Problem::new(StatusCode::PAYLOAD_TOO_LARGE, Code::BodyTooLarge, detail);
    }
    Problem::new(StatusCode::BAD_REQUEST, Code::BadRequest, error.body_text())
}

/// serde's message may quote the value, and a value below `seed` may be a secret: then only its
/// position is returned.
fn misread(path: &str, error: &serde_json::Error) -> Problem {
    let place = format!("line {} column {}", error.line(), error.column());
    if error.is_data() {
        let secret = path.starts_with("seed");
        let words = if secret {
            "it has the wrong type".to_owned()
        } else {
            error.to_string()
        };
        let detail = format!("{path} is invalid: {words} ({place})");
        return Problem::new(StatusCode::UNPROCESSABLE_ENTITY, Code::BadSpec, detail);
    }
    Problem::new(
        StatusCode::BAD_REQUEST,
        Code::BadRequest,
        format!("the body is not valid JSON at {place}"),
    )
}

/// A machine's id in a path.
pub struct Id(pub Uuid);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        match path.ok().and_then(|Path(text)| text.parse().ok()) {
            Some(id) => Ok(Self(id)),
            None => Err(Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                Code::BadSpec,
                "id is not a UUID; it must be like 3f2b7a52-66f4-4c4a-9d57-0c9d3c7d8e55",
            )),
        }
    }
}

/// The checksum in a path. `images` validates it.
pub struct Checksum(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Checksum {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|error| {
            Problem::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                Code::BadSpec,
                error.body_text(),
            )
        })?;
        Ok(Self(text))
    }
}

/// Query parameters.
pub struct CheckedQuery<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for CheckedQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::from_request_parts(parts, state)
            .await
            .map_err(|error| {
                Problem::new(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    Code::BadSpec,
                    error.body_text(),
                )
            })?;
        Ok(Self(query.0))
    }
}
