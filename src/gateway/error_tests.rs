use super::*;

fn refused(code: &str) -> GatewayError {
    GatewayError::Refused {
        url: "https://h".into(),
        what: "make a virtual machine".into(),
        status: 422,
        code: code.into(),
        detail: "no".into(),
    }
}

/// A gateway that is older than the manager, and what it does not know, are told apart from a wrong
/// spec.
#[test]
fn a_code_of_the_gateway_is_a_reason_that_says_who_has_to_act() {
    for (code, reason) in [
        ("UnknownField", "GatewayOutdated"),
        ("BadSpec", "InvalidSpec"),
        ("ImageDiffers", "ImageDiffers"),
        ("PoolFull", "StorageFull"),
        ("Unauthenticated", "Unauthorized"),
        ("of-tomorrow", "GatewayRefused"),
    ] {
        assert_eq!(refused(code).reason().as_str(), reason, "{code}");
    }
}

/// An error as one of `reqwest` is made: of layers, the innermost of them within errors of input
/// and output.
#[derive(Debug, thiserror::Error)]
#[error("client error (Connect)")]
struct Layer(#[source] io::Error);

fn layers(innermost: impl Into<Box<dyn Error + Send + Sync>>) -> Layer {
    Layer(io::Error::other(io::Error::new(
        io::ErrorKind::InvalidData,
        innermost,
    )))
}

fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    inside(error).map_or(error, innermost)
}

#[test]
fn why_there_is_no_answer_is_told_by_type_and_not_by_words() {
    use rustls::{CertificateError, Error as Tls};
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    for (error, reason) in [
        (
            layers(Tls::InvalidCertificate(CertificateError::UnknownIssuer)),
            Reason::CertificateUnknown,
        ),
        (
            layers(Tls::InvalidCertificate(CertificateError::NotValidForName)),
            Reason::CertificateUnknown,
        ),
        (
            layers(Tls::AlertReceived(AlertDescription::UnknownCA)),
            Reason::Unauthorized,
        ),
        (
            layers(Tls::AlertReceived(AlertDescription::InternalError)),
            Reason::HypervisorUnreachable,
        ),
        (layers(refused), Reason::HypervisorUnreachable),
        (
            layers("no address for certificate.example"),
            Reason::HypervisorUnreachable,
        ),
    ] {
        assert_eq!(reason_of_silence(innermost(&error)), reason, "{error:?}");
    }
}
