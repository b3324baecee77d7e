//! Errors as they are answered (RFC 9457).

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{events, images, libvirt, machines};

/// The body of every error: `application/problem+json` (RFC 9457).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemBody {
    /// Always `about:blank`: `title` is the status in words.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// The status in words.
    pub title: Cow<'static, str>,
    /// The status.
    pub status: u16,
    /// What is wrong, with field, value and remedy.
    pub detail: String,
    /// One word for programs, such as `InsufficientCapacity`.
    pub code: Cow<'static, str>,
}

/// An error, as it is answered.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    detail: String,
}

impl Problem {
    /// An error.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
        }
    }

    fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "LibvirtUnavailable",
            detail,
        )
    }
}

/// The word for programs of an answer, for the log.
#[derive(Clone, Copy, Debug)]
pub struct Code(pub &'static str);

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ProblemBody {
            kind: "about:blank".into(),
            title: self.status.canonical_reason().unwrap_or("Error").into(),
            status: self.status.as_u16(),
            detail: self.detail,
            code: self.code.into(),
        };
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (self.status, [(header::CONTENT_TYPE, kind)], body).into_response();
        let headers = response.headers_mut();
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response.extensions_mut().insert(Code(self.code));
        response
    }
}

impl From<libvirt::Error> for Problem {
    fn from(error: libvirt::Error) -> Self {
        use virt::error::ErrorNumber as Number;
        let words = error.words();
        if error.is_unavailable() {
            return Self::unavailable(words);
        }
        if error.is_unsupported() {
            return Self::new(StatusCode::NOT_IMPLEMENTED, "NotSupportedByDriver", words);
        }
        let of_spec = [
            Number::ConfigUnsupported,
            Number::XmlError,
            Number::XmlDetail,
        ];
        if of_spec.into_iter().any(|number| error.is(number)) {
            return Self::new(StatusCode::UNPROCESSABLE_ENTITY, "BadSpec", words);
        }
        if error.is(Number::OperationInvalid) {
            return Self::new(StatusCode::CONFLICT, "OperationInvalid", words);
        }
        tracing::error!(error = words, "libvirt failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "LibvirtFailed", words)
    }
}

impl From<machines::Error> for Problem {
    fn from(error: machines::Error) -> Self {
        use machines::Error as E;
        let detail = error.to_string();
        let (status, code) = match error {
            E::Unknown { .. } => (StatusCode::NOT_FOUND, "MachineUnknown"),
            E::SpecDiffers { .. } => (StatusCode::CONFLICT, "SpecDiffers"),
            E::NameTaken { .. } => (StatusCode::CONFLICT, "NameTaken"),
            E::ImageNotReady { .. } => (StatusCode::CONFLICT, "ImageNotReady"),
            E::BadSpec(_) => (StatusCode::UNPROCESSABLE_ENTITY, "BadSpec"),
            E::InsufficientCapacity { .. } => {
                (StatusCode::INSUFFICIENT_STORAGE, "InsufficientCapacity")
            }
            E::PoolFull { .. } => (StatusCode::INSUFFICIENT_STORAGE, "PoolFull"),
            E::PoolInactive { .. } => (StatusCode::CONFLICT, "PoolInactive"),
            E::Off { .. } => (StatusCode::CONFLICT, "MachineOff"),
            E::Busy { .. } => (StatusCode::SERVICE_UNAVAILABLE, "MachineBusy"),
            E::SeedBusy { .. } => (StatusCode::CONFLICT, "SeedBusy"),
            E::NotSupported { .. } => (StatusCode::NOT_IMPLEMENTED, "NotSupportedByDriver"),
            E::Console { source, .. } => {
                let detail = format!("{detail}: {source}");
                return Self::new(StatusCode::INTERNAL_SERVER_ERROR, "ConsoleFailed", detail);
            }
            E::Seed(_) => (StatusCode::INTERNAL_SERVER_ERROR, "SeedFailed"),
            E::Libvirt(error) => return error.into(),
        };
        Self::new(status, code, detail)
    }
}

impl From<images::Error> for Problem {
    fn from(error: images::Error) -> Self {
        use images::Error as E;
        let detail = error.to_string();
        let (status, code) = match error {
            E::Unknown { .. } => (StatusCode::NOT_FOUND, "ImageUnknown"),
            E::Differs { .. } => (StatusCode::CONFLICT, "ImageDiffers"),
            E::InUse { .. } => (StatusCode::CONFLICT, "ImageInUse"),
            E::BadField(_) => (StatusCode::UNPROCESSABLE_ENTITY, "BadSpec"),
            E::NotSupported { .. } => (StatusCode::NOT_IMPLEMENTED, "NotSupportedByDriver"),
            E::Libvirt(error) => return error.into(),
        };
        Self::new(status, code, detail)
    }
}

impl From<events::Ended> for Problem {
    fn from(error: events::Ended) -> Self {
        Self::unavailable(error.to_string())
    }
}
