//! Certificates: the pinned one, and no other.

use tatara_redfish::{Error, Trust};

use super::{Bmc, access, access_with, open, pace, told};
use crate::support::bmc::{PASSWORD, SimulatedBmc, State};

async fn error_with(simulated: &SimulatedBmc, trust: Trust) -> Error {
    let access = access_with(simulated, PASSWORD, trust, None);
    match Bmc::open(&access, pace()).await {
        Ok(_) => panic!("it was trusted"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_changed_certificate_is_an_error_that_says_both_and_nothing_is_sent() {
    let mut simulated = SimulatedBmc::start(State::default()).await;
    let pinned = simulated.certificate.1.clone();
    let before = access(&simulated);
    open(&simulated).await.close().await;
    simulated.change_certificate();
    simulated.state().requests.clear();
    let Err(error) = Bmc::open(&before, pace()).await else {
        panic!("it was trusted")
    };
    assert!(
        matches!(error, Error::CertificateChanged { .. }),
        "{error:?}"
    );
    let told = told(&error);
    assert!(
        told.contains(&pinned) && told.contains(&simulated.certificate.1),
        "{told}"
    );
    assert_eq!(simulated.state().requests, Vec::<String>::new());
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_refused_with_the_remedy() {
    let simulated = SimulatedBmc::start(State::default()).await;
    let other = SimulatedBmc::start(State::default()).await;
    let trust = Trust::authority(other.certificate.0.as_bytes()).expect("a certificate");
    let error = error_with(&simulated, trust).await;
    assert!(
        matches!(error, Error::CertificateUntrusted { .. }),
        "{error:?}"
    );
    let told = told(&error);
    assert!(
        told.contains(&simulated.certificate.1) && told.contains("spec.bmc.tls.fingerprint"),
        "{told}"
    );
    assert_eq!(simulated.state().requests, Vec::<String>::new());
}

#[tokio::test]
async fn a_bmc_whose_authority_is_given_is_trusted() {
    let simulated = SimulatedBmc::start(State::default()).await;
    let trust = Trust::authority(simulated.authority.as_bytes()).expect("a certificate");
    let access = access_with(&simulated, PASSWORD, trust, None);
    let bmc = Bmc::open(&access, pace()).await.expect("a login");
    bmc.close().await;
}

#[tokio::test]
async fn a_bmc_that_is_not_there_is_told_with_its_address() {
    let simulated = SimulatedBmc::start(State::default()).await;
    let access = access(&simulated);
    let address = simulated.address();
    drop(simulated);
    let Err(error) = Bmc::open(&access, pace()).await else {
        panic!("nobody is there")
    };
    assert!(told(&error).contains(&address), "{error}");
}
