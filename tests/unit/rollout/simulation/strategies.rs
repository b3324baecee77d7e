//! Strategies of a MachineDeployment.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tatara_core::api::machine_deployment::{InPlace, RollingUpdate, Strategy, StrategyType};

pub fn rolling(surge: IntOrString, unavailable: IntOrString) -> Strategy {
    let rolling_update = RollingUpdate {
        max_surge: Some(surge),
        max_unavailable: Some(unavailable),
    };
    Strategy {
        type_: StrategyType::RollingUpdate,
        rolling_update: Some(rolling_update),
        ..Strategy::default()
    }
}

pub fn in_place(unavailable: IntOrString) -> Strategy {
    Strategy {
        type_: StrategyType::InPlace,
        in_place: Some(InPlace {
            max_unavailable: Some(unavailable),
        }),
        ..Strategy::default()
    }
}

pub fn on_delete() -> Strategy {
    Strategy {
        type_: StrategyType::OnDelete,
        ..Strategy::default()
    }
}
