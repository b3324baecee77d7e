//! The API description, generated from the handlers.

use std::collections::BTreeMap;

use axum::Json;
use utoipa::openapi::schema::AdditionalProperties;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, OpenApi, Ref, RefOr, Response, ResponseBuilder, Schema,
};
use utoipa::{IntoResponses, OpenApi as _, ToSchema};

use super::types::ProblemBody;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "tatara-gateway",
        description = "Machines on one libvirt hypervisor, from images and cloud-init seeds. Errors are \
                       application/problem+json (RFC 9457) with a machine-readable `code`.",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    security(("bearer" = []), ("certificate" = [])),
    components(schemas(super::types::event::MachineGone, ProblemBody)),
)]
struct Frame;

/// The description without paths.
pub(super) fn frame() -> OpenApi {
    let mut frame = Frame::openapi();
    let components = frame.components.get_or_insert_with(Components::new);
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("bearer", bearer);
    let certificate = Some("a client certificate of the gateway's client authority");
    components.add_security_scheme(
        "certificate",
        SecurityScheme::MutualTls {
            description: certificate.map(str::to_owned),
            deprecated: None,
            extensions: None,
        },
    );
    frame
}

/// Schemas of requests: the gateway rejects unknown fields.
const STRICT: [&str; 8] = [
    "MachineRequest",
    "MachineSpec",
    "RootDisk",
    "DataDisk",
    "InterfaceSpec",
    "Seed",
    "PowerRequest",
    "ImageRequest",
];

/// The complete description.
pub fn document() -> OpenApi {
    let mut document = super::routes::described().into_openapi();
    let schemas = document
        .components
        .iter_mut()
        .flat_map(|parts| &mut parts.schemas);
    for (_, schema) in schemas.filter(|(name, _)| STRICT.contains(&name.as_str())) {
        if let RefOr::T(Schema::Object(object)) = schema {
            object.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
        }
    }
    document
}

/// This API description.
#[utoipa::path(
    get, path = "/openapi.json", tag = "description",
    responses((status = 200, description = "OpenAPI 3.1.", content_type = "application/json"), Failures),
)]
pub(super) async fn openapi() -> Json<OpenApi> {
    Json(document())
}

/// Problems of every request.
pub(super) struct Failures;
/// Problems of an invalid request.
pub(super) struct Invalid;
/// Problems when the object does not exist.
pub(super) struct Missing;
/// Problems when the current state conflicts with the request.
pub(super) struct Conflict;
/// Problems when the hypervisor lacks capacity.
pub(super) struct Full;

impl IntoResponses for Failures {
    fn responses() -> Responses {
        problems(&[
            (
                "401",
                "Unauthenticated, TokenExpired: the credentials are missing, unknown or expired.",
            ),
            (
                "500",
                "LibvirtFailed: libvirt failed to execute the request.",
            ),
            (
                "501",
                "NotSupportedByDriver: libvirt's driver does not support the operation.",
            ),
            (
                "503",
                "LibvirtUnavailable, MachineBusy: libvirt or the machine is busy, or libvirt does not answer; \
                 try again later.",
            ),
        ])
    }
}

impl IntoResponses for Invalid {
    fn responses() -> Responses {
        problems(&[
            ("400", "BadRequest: the body is not valid JSON."),
            ("413", "BodyTooLarge: the body is larger than 1 MiB."),
            ("415", "UnsupportedMediaType: the body must be JSON."),
            (
                "422",
                "BadSpec, UnknownField: a field is invalid or unknown.",
            ),
        ])
    }
}

impl IntoResponses for Missing {
    fn responses() -> Responses {
        problems(&[("404", "MachineUnknown, ImageUnknown: it does not exist.")])
    }
}

impl IntoResponses for Conflict {
    fn responses() -> Responses {
        problems(&[(
            "409",
            "SpecDiffers, NameTaken, ImageNotReady, ImageDiffers, ImageInUse, MachineOff, PoolInactive, SeedBusy, \
             OperationInvalid: things are not as the request needs them.",
        )])
    }
}

impl IntoResponses for Full {
    fn responses() -> Responses {
        problems(&[(
            "507",
            "InsufficientCapacity, PoolFull: the hypervisor lacks capacity.",
        )])
    }
}

type Responses = BTreeMap<String, RefOr<Response>>;

fn problems(statuses: &[(&str, &str)]) -> Responses {
    let body = || Ref::from_schema_name(ProblemBody::name());
    let describe = |description: &str| {
        let content = ContentBuilder::new().schema(Some(body())).build();
        let response = ResponseBuilder::new().description(description);
        response
            .content("application/problem+json", content)
            .build()
            .into()
    };
    statuses
        .iter()
        .map(|(status, text)| ((*status).to_owned(), describe(text)))
        .collect()
}
