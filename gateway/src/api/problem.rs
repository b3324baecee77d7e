//! Error responses: problem details (RFC 9457).

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use super::types::{Code, ProblemBody};
use crate::{events, images, libvirt, machines};

/// An error response.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    code: Code,
    detail: String,
}

impl Problem {
    /// A problem with status, code and detail.
    pub fn new(status: StatusCode, code: Code, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
        }
    }

    fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            Code::LibvirtUnavailable,
            detail,
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ProblemBody {
            kind: "about:blank".into(),
            title: self.status.canonical_reason().unwrap_or("Error").into(),
            status: self.status.as_u16(),
            detail: self.detail,
            code: self.code.as_str().into(),
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
        // the log middleware reads the code
        response.extensions_mut().insert(self.code);
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
            return Self::new(
                StatusCode::NOT_IMPLEMENTED,
                Code::NotSupportedByDriver,
                words,
            );
        }
        let of_spec = [
            Number::ConfigUnsupported,
            Number::XmlError,
            Number::XmlDetail,
        ];
        if of_spec.into_iter().any(|number| error.is(number)) {
            return Self::new(StatusCode::UNPROCESSABLE_ENTITY, Code::BadSpec, words);
        }
        if error.is(Number::OperationInvalid) {
            return Self::new(StatusCode::CONFLICT, Code::OperationInvalid, words);
        }
        tracing::error!(error = words, "failed to execute a request in libvirt");
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            Code::LibvirtFailed,
            words,
        )
    }
}

impl From<machines::Error> for Problem {
    fn from(error: machines::Error) -> Self {
        use machines::Error as E;
        let detail = error.to_string();
        let (status, code) = match error {
            E::Unknown { .. } => (StatusCode::NOT_FOUND, Code::MachineUnknown),
            E::SpecDiffers { .. } => (StatusCode::CONFLICT, Code::SpecDiffers),
            E::NameTaken { .. } => (StatusCode::CONFLICT, Code::NameTaken),
            E::ImageNotReady { .. } => (StatusCode::CONFLICT, Code::ImageNotReady),
            E::BadSpec(_) => (StatusCode::UNPROCESSABLE_ENTITY, Code::BadSpec),
            E::InsufficientCapacity { .. } => {
                (StatusCode::INSUFFICIENT_STORAGE, Code::InsufficientCapacity)
            }
            E::PoolFull { .. } => (StatusCode::INSUFFICIENT_STORAGE, Code::PoolFull),
            E::PoolInactive { .. } => (StatusCode::CONFLICT, Code::PoolInactive),
            E::Off { .. } => (StatusCode::CONFLICT, Code::MachineOff),
            E::Busy { .. } => (StatusCode::SERVICE_UNAVAILABLE, Code::MachineBusy),
            E::SeedBusy { .. } => (StatusCode::CONFLICT, Code::SeedBusy),
            E::NotSupported { .. } => (StatusCode::NOT_IMPLEMENTED, Code::NotSupportedByDriver),
            E::Console { source, .. } => {
                let detail = format!("{detail}: {source}");
                return Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    Code::ConsoleFailed,
                    detail,
                );
            }
            E::Seed(_) => (StatusCode::INTERNAL_SERVER_ERROR, Code::SeedFailed),
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
            E::Unknown { .. } => (StatusCode::NOT_FOUND, Code::ImageUnknown),
            E::Differs { .. } => (StatusCode::CONFLICT, Code::ImageDiffers),
            E::InUse { .. } => (StatusCode::CONFLICT, Code::ImageInUse),
            E::BadField(_) => (StatusCode::UNPROCESSABLE_ENTITY, Code::BadSpec),
            E::NotSupported { .. } => (StatusCode::NOT_IMPLEMENTED, Code::NotSupportedByDriver),
            E::Libvirt(error) => return error.into(),
        };
        Self::new(status, code, detail)
    }
}

impl From<events::StreamEnd> for Problem {
    fn from(error: events::StreamEnd) -> Self {
        Self::unavailable(error.to_string())
    }
}
