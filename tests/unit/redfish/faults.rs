//! What BMCs do wrong.

use tatara_core::host::PowerState;
use tatara_redfish::{BootDevice, Error, Wish};

use super::{Bmc, access_with, open, pace, refused, told, trust};
use crate::support::bmc::{PASSWORD, SimulatedBmc, State};

#[tokio::test]
async fn power_that_comes_late_is_waited_for() {
    for has_tasks in [false, true] {
        let simulated = SimulatedBmc::start(State {
            delay: 5,
            has_tasks,
            ..State::default()
        })
        .await;
        let mut bmc = open(&simulated).await;
        bmc.bring(Wish::On).await.expect("it goes on");
        assert_eq!(simulated.state().power, "On");
        assert_eq!(simulated.state().count("ComputerSystem.Reset"), 1);
        bmc.close().await;
    }
}

#[tokio::test]
async fn a_204_after_which_nothing_happens_is_an_error() {
    let simulated = SimulatedBmc::start(State {
        lies: true,
        ..State::default()
    })
    .await;
    let mut bmc = open(&simulated).await;
    let error = bmc.bring(Wish::On).await.expect_err("nothing happened");
    assert!(matches!(error, Error::NotReached { .. }), "{error:?}");
    assert!(told(&error).contains("still reports Off"), "{error}");
    bmc.close().await;
}

#[tokio::test]
async fn errors_and_lost_connections_that_pass_cost_only_time() {
    let simulated = SimulatedBmc::start(State::default()).await;
    simulated.state().busy = 3;
    let mut bmc = open(&simulated).await;
    simulated.state().drops = 3;
    assert_eq!(bmc.power().await.expect("a state"), PowerState::Off);
    simulated.state().busy = 2;
    bmc.bring(Wish::On).await.expect("it goes on");
    simulated.state().busy = 2;
    bmc.boot_once(BootDevice::Pxe).await.expect("an override");
    bmc.close().await;
}

#[tokio::test]
async fn a_power_action_that_is_lost_is_not_repeated_when_it_took_effect() {
    let simulated = SimulatedBmc::start(State::default()).await;
    let mut bmc = open(&simulated).await;
    simulated.state().refuses_power = Some((500, "internal error"));
    simulated.state().power = "Off".into();
    let state = simulated.state.clone();
    let heals = async {
        loop {
            {
                let mut state = state.lock().expect("the state");
                if state.count("ComputerSystem.Reset") == 1 {
                    // the answer was an error, and the system goes on all the same
                    state.power = "On".into();
                    return;
                }
            }
            tokio::task::yield_now().await;
        }
    };
    let (brought, ()) = tokio::join!(bmc.bring(Wish::On), heals);
    brought.expect("it is on");
    assert_eq!(simulated.state().count("ComputerSystem.Reset"), 1);
    bmc.close().await;
}

#[tokio::test]
async fn errors_that_stay_end_after_a_bounded_number_of_requests() {
    let simulated = SimulatedBmc::start(State::default()).await;
    let mut bmc = open(&simulated).await;
    let before = simulated.state().requests.len();
    simulated.state().busy = u32::MAX;
    let error = bmc.power().await.expect_err("busy");
    assert!(
        told(&error).contains("HTTP 503: try again later"),
        "{error}"
    );
    assert_eq!(simulated.state().requests.len() - before, 4);
    simulated.state().busy = 0;
    bmc.close().await;
}

#[tokio::test]
async fn a_change_by_somebody_else_is_met_by_reading_again_once() {
    let simulated = SimulatedBmc::start(State {
        meddler: 1,
        ..State::default()
    })
    .await;
    let mut bmc = open(&simulated).await;
    bmc.boot_once(BootDevice::Pxe).await.expect("an override");
    assert_eq!(simulated.state().count("PATCH"), 2);
    simulated.state().meddler = 2;
    let error = bmc
        .boot_once(BootDevice::Cd)
        .await
        .expect_err("changed twice");
    assert!(told(&error).contains("HTTP 412"), "{error}");
    assert_eq!(simulated.state().count("PATCH"), 4);
    bmc.close().await;
}

#[tokio::test]
async fn a_task_that_fails_says_why_and_one_that_never_ends_is_given_up() {
    for (task, says) in [
        ((1, "Exception"), "ended with Exception: as it was told"),
        ((u32::MAX, "Completed"), "has not finished after"),
    ] {
        let simulated = SimulatedBmc::start(State {
            has_tasks: true,
            task,
            ..State::default()
        })
        .await;
        let mut bmc = open(&simulated).await;
        let error = bmc.boot_once(BootDevice::Pxe).await.expect_err("a task");
        assert!(told(&error).contains(says), "{error}");
        bmc.close().await;
    }
}

#[tokio::test]
async fn a_refused_power_action_is_told_in_the_words_of_the_bmc() {
    let simulated = SimulatedBmc::start(State {
        refuses_power: Some((400, "the chassis is open")),
        ..State::default()
    })
    .await;
    let mut bmc = open(&simulated).await;
    let error = bmc.bring(Wish::On).await.expect_err("refused");
    assert!(
        told(&error).contains("HTTP 400: the chassis is open"),
        "{error}"
    );
    assert_eq!(simulated.state().count("ComputerSystem.Reset"), 1);
    bmc.close().await;
}

#[tokio::test]
async fn a_power_action_that_is_not_offered_is_not_asked_for() {
    let simulated = SimulatedBmc::start(State {
        reset_types: vec!["ForceOff", "Nmi"],
        ..State::default()
    })
    .await;
    let mut bmc = open(&simulated).await;
    let error = bmc.bring(Wish::On).await.expect_err("not offered");
    assert!(told(&error).contains("none of On, ForceOn"), "{error}");
    assert!(
        told(&error).contains("allowed are ForceOff, Nmi"),
        "{error}"
    );
    assert_eq!(simulated.state().count("ComputerSystem.Reset"), 0);
    bmc.close().await;
}

#[tokio::test]
async fn a_wrong_password_is_tried_once_and_is_not_told() {
    for has_sessions in [false, true] {
        let simulated = SimulatedBmc::start(State {
            has_sessions,
            ..State::default()
        })
        .await;
        let wrong = "canary-wrong-password";
        let access = access_with(&simulated, wrong, trust(&simulated), None);
        let Err(error) = Bmc::open(&access, pace()).await else {
            panic!("it was let in")
        };
        assert!(matches!(error, Error::LoginRefused { .. }), "{error:?}");
        assert_eq!(simulated.state().refused_logins, 1);
        assert!(!format!("{error:?}{}", told(&error)).contains(wrong));
        assert!(
            told(&error).contains("refuses user admin (HTTP 401)"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn only_what_is_said_of_the_password_counts_as_its_refusal() {
    for (status, is_refusal) in [
        (400, true),
        (401, true),
        (403, true),
        (408, false),
        (409, false),
        (429, false),
    ] {
        let simulated = SimulatedBmc::start(State {
            refuses_sessions: Some(status),
            ..State::default()
        })
        .await;
        let error = refused(&simulated).await;
        let is = matches!(error, Error::LoginRefused { .. });
        assert_eq!(is, is_refusal, "{error:?}");
        assert!(told(&error).contains("no session now"), "{error}");
        assert_eq!(simulated.state().count("POST"), 1, "asked once");
    }
}

#[tokio::test]
async fn a_session_that_the_bmc_has_ended_is_begun_again_once() {
    let simulated = SimulatedBmc::start(State::default()).await;
    let mut bmc = open(&simulated).await;
    simulated.state().forget_sessions();
    bmc.power().await.expect("a new session");
    assert_eq!(simulated.state().logins, 2);
    simulated.state().forget_sessions();
    simulated.state().password = "changed meanwhile".into();
    let error = bmc.power().await.expect_err("the password is wrong now");
    assert!(matches!(error, Error::LoginRefused { .. }), "{error:?}");
    assert_eq!(simulated.state().refused_logins, 1);
    bmc.close().await;
}

#[tokio::test]
async fn one_of_several_systems_has_to_be_named() {
    let simulated = SimulatedBmc::start(State {
        systems: vec!["1", "2"],
        ..State::default()
    })
    .await;
    let error = refused(&simulated).await;
    assert!(told(&error).contains("set spec.bmc.systemID"), "{error}");
    assert!(told(&error).contains("2 (UUID"), "{error}");
    assert_eq!(
        simulated.state().open_sessions(),
        0,
        "nothing is left behind"
    );
    let access = access_with(&simulated, PASSWORD, trust(&simulated), Some("S2"));
    let bmc = Bmc::open(&access, pace()).await.expect("by serial number");
    bmc.close().await;
}

#[tokio::test]
async fn an_image_that_cannot_be_fetched_is_told_in_the_words_of_the_bmc() {
    let simulated = SimulatedBmc::start(State::default()).await;
    let mut bmc = open(&simulated).await;
    let error = bmc.insert_cd("nfs://x/y").await.expect_err("no image");
    assert!(
        told(&error).contains("the image cannot be fetched"),
        "{error}"
    );
    bmc.close().await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read_further_and_not_asked_for_again() {
    let simulated = SimulatedBmc::start(State::default()).await;
    let mut bmc = open(&simulated).await;
    simulated.state().floods = true;
    let before = simulated.state().requests.len();
    let error = bmc.power().await.expect_err("too large");
    let told = told(&error);
    assert!(told.contains("it is larger than 1048576 bytes"), "{told}");
    assert!(told.contains(&simulated.address()), "{told}");
    assert_eq!(simulated.state().requests.len(), before + 1);
}

#[tokio::test]
async fn redirects_in_a_circle_end_and_none_leads_to_another_server() {
    let (simulated, other) = (
        SimulatedBmc::start(State::default()).await,
        SimulatedBmc::start(State::default()).await,
    );
    let mut bmc = open(&simulated).await;
    // the first request, and four that follow
    for (to, requests) in [(&simulated, 5), (&other, 1)] {
        let to = format!("{}/redfish/v1/Systems/1", to.address());
        simulated.state().redirects = Some(to);
        let before = simulated.state().requests.len();
        let error = bmc.power().await.expect_err("no answer");
        assert!(
            matches!(error, Error::Refused { status: 307, .. }),
            "{error:?}"
        );
        assert_eq!(simulated.state().requests.len(), before + requests);
    }
    assert_eq!(other.state().requests.len(), 0);
}
