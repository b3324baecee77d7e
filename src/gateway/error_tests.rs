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

/// A gateway that is older than the manager, and what it does not know, are told apart from a wrong spec.
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
        assert_eq!(refused(code).reason(), reason, "{code}");
    }
}
