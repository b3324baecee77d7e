//! What a BMC is asked for, and does.

use tatara_core::host::PowerState;
use tatara_redfish::{BootDevice, Wish};

use super::open;
use crate::support::bmc::{SimulatedBmc, State};

#[tokio::test]
async fn a_system_is_switched_on_and_off_and_restarted_and_the_session_is_ended() {
    let simulated = SimulatedBmc::start(State::default()).await;
    let mut bmc = open(&simulated).await;
    assert_eq!(bmc.power().await.expect("a state"), PowerState::Off);
    for (wish, state) in [
        (Wish::On, PowerState::On),
        (Wish::Restart, PowerState::On),
        (Wish::Shutdown, PowerState::Off),
        (Wish::On, PowerState::On),
        (Wish::ForceOff, PowerState::Off),
    ] {
        bmc.bring(wish).await.expect("what was wished");
        assert_eq!(bmc.power().await.expect("a state"), state, "{wish}");
    }
    assert_eq!(simulated.state().open_sessions(), 1);
    bmc.close().await;
    assert_eq!(simulated.state().open_sessions(), 0);
    assert_eq!(simulated.state().logins, 1);
}

#[tokio::test]
async fn what_is_on_already_is_not_asked_to_be() {
    let on = State {
        power: "On".into(),
        ..State::default()
    };
    let simulated = SimulatedBmc::start(on).await;
    let mut bmc = open(&simulated).await;
    bmc.bring(Wish::On).await.expect("it is on");
    assert_eq!(simulated.state().count("ComputerSystem.Reset"), 0);
    bmc.close().await;
}

#[tokio::test]
async fn a_bmc_without_sessions_is_used_with_basic_authentication() {
    for state in [
        State {
            has_sessions: false,
            has_etags: false,
            ..State::default()
        },
        State {
            has_sessions: true,
            session_room: 0,
            ..State::default()
        },
    ] {
        let simulated = SimulatedBmc::start(state).await;
        let mut bmc = open(&simulated).await;
        bmc.bring(Wish::On).await.expect("it goes on");
        bmc.boot_once(BootDevice::Pxe).await.expect("an override");
        bmc.close().await;
        assert_eq!(simulated.state().open_sessions(), 0);
        assert_eq!(simulated.state().refused_logins, 0);
    }
}

#[tokio::test]
async fn missing_links_and_allowed_values_elsewhere_are_no_trouble() {
    let simulated = SimulatedBmc::start(State {
        has_links: false,
        action_info: true,
        reset_types: vec!["ForceOn", "ForceOff"],
        media_under: "Managers",
        ..State::default()
    })
    .await;
    let mut bmc = open(&simulated).await;
    assert_eq!(simulated.state().open_sessions(), 1, "the usual path");
    bmc.bring(Wish::On).await.expect("ForceOn does it");
    bmc.insert_cd("http://192.0.2.1/a.iso").await.expect("a CD");
    bmc.close().await;
}

#[tokio::test]
async fn an_override_is_read_back_and_taken_back() {
    for keeps_once in [false, true] {
        let simulated = SimulatedBmc::start(State {
            keeps_once,
            ..State::default()
        })
        .await;
        let mut bmc = open(&simulated).await;
        let kept = bmc.boot_once(BootDevice::Cd).await.expect("an override");
        let expected = if keeps_once { "Continuous" } else { "Once" };
        assert_eq!(
            (kept.enabled.as_str(), kept.target.as_str()),
            (expected, "Cd")
        );
        bmc.bring(Wish::On).await.expect("it boots");
        let after = bmc.boot_override().await.expect("an answer");
        assert_eq!(after.is_some(), keeps_once, "{after:?}");
        bmc.boot_from_disk().await.expect("the disk");
        let last = bmc.boot_override().await.expect("an answer");
        assert!(last.is_none_or(|last| last.target == "Hdd"));
        bmc.close().await;
    }
}

#[tokio::test]
async fn a_cd_is_inserted_over_another_and_ejected_wherever_the_drive_is() {
    for media_under in ["Systems", "Managers"] {
        for has_tasks in [false, true] {
            let simulated = SimulatedBmc::start(State {
                has_tasks,
                media_under,
                ..State::default()
            })
            .await;
            let mut bmc = open(&simulated).await;
            assert_eq!(bmc.cd().await.expect("a drive"), None);
            for image in ["http://192.0.2.1/a.iso", "http://192.0.2.1/b.iso"] {
                bmc.insert_cd(image).await.expect("a CD");
                assert_eq!(bmc.cd().await.expect("a drive").as_deref(), Some(image));
            }
            bmc.eject_cd().await.expect("an empty drive");
            bmc.eject_cd().await.expect("an empty drive stays empty");
            assert_eq!(simulated.state().image, None);
            bmc.close().await;
        }
    }
}
