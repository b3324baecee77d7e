//! The Redfish client against a BMC that has every fault that BMCs have (simulated).

mod faults;
mod happy;
mod trust;

use std::time::Duration;

use tatara_redfish::{Access, Bmc, Error, Login, Pace, Trust};

use crate::support::bmc::{PASSWORD, SimulatedBmc, USER};

/// As patient as the real pace, and faster.
fn pace() -> Pace {
    Pace {
        request: Duration::from_secs(20),
        attempts: 4,
        pause: Duration::from_millis(5),
        poll: Duration::from_millis(5),
        change: Duration::from_millis(500),
        task: Duration::from_millis(500),
    }
}

fn trust(bmc: &SimulatedBmc) -> Trust {
    Trust::fingerprint(&bmc.certificate.1).expect("a fingerprint")
}

fn access_with(bmc: &SimulatedBmc, password: &str, trust: Trust, system: Option<&str>) -> Access {
    let login = Login {
        username: USER.into(),
        password: password.to_owned().into(),
    };
    Access::new(&bmc.address(), login, trust, system.map(str::to_owned)).expect("an access")
}

fn access(bmc: &SimulatedBmc) -> Access {
    access_with(bmc, PASSWORD, trust(bmc), None)
}

async fn open(bmc: &SimulatedBmc) -> Bmc {
    Bmc::open(&access(bmc), pace()).await.expect("a login")
}

async fn refused(bmc: &SimulatedBmc) -> Error {
    match Bmc::open(&access(bmc), pace()).await {
        Ok(_) => panic!("it was let in"),
        Err(error) => error,
    }
}

/// An error with its causes, as people see it.
fn told(error: &Error) -> String {
    tatara::engine::Chain(error).to_string()
}
