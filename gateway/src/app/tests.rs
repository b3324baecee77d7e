use std::sync::mpsc;

use clap::Parser;

use super::*;
use crate::libvirt;

fn app() -> Arc<App> {
    let args = Args::parse_from(["tatara-gateway", "--libvirt", "test:///default"]);
    Arc::new(App::new(&args))
}

#[tokio::test]
async fn a_machine_whose_change_hangs_takes_one_worker_and_no_more() {
    let app = app();
    let (stuck, other) = (Uuid::from_u128(1), Uuid::from_u128(33));
    let (go, wait) = mpsc::channel::<()>();
    let hung = tokio::spawn({
        let app = app.clone();
        async move {
            app.change(stuck, move |_, _| Ok(wait.recv().is_err()))
                .await
        }
    });
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let app = app.clone();
            tokio::spawn(async move { app.change(stuck, |_, _| Ok(())).await })
        })
        .collect();
    tokio::task::yield_now().await;
    let answer = app.libvirt.run(|_| Ok::<_, libvirt::Error>(()));
    let answer = tokio::time::timeout(Duration::from_secs(20), answer).await;
    assert!(answer.expect("an answer").is_ok(), "others are served");
    let answer = tokio::time::timeout(Duration::from_secs(20), app.change(other, |_, _| Ok(())));
    assert!(answer.await.expect("an answer").is_ok(), "others change");
    drop(go);
    assert!(hung.await.expect("no panic").expect("its end"));
    for waited in waiting {
        assert!(waited.await.expect("no panic").is_ok());
    }
    app.change(other, |app, _| {
        assert_eq!(
            app.locks.machines.lock().expect("no panic").len(),
            1,
            "its own"
        );
        Ok(())
    })
    .await
    .expect("a change");
}

#[tokio::test]
async fn changes_of_a_machine_come_in_order_and_those_without_a_caller_do_not_come() {
    let app = app();
    let id = Uuid::from_u128(1);
    let turn = app.locks.machine(id).await.expect("a turn");
    let (said, heard) = mpsc::channel();
    let mut waiting = Vec::new();
    for number in 0..4 {
        let (app, said) = (app.clone(), said.clone());
        waiting.push(tokio::spawn(async move {
            app.change(id, move |_, _| Ok(said.send(number).is_ok()))
                .await
        }));
        tokio::task::yield_now().await;
    }
    waiting.remove(1).abort();
    tokio::task::yield_now().await;
    drop((turn, said));
    for waited in waiting {
        assert!(waited.await.expect("no panic").expect("its end"));
    }
    assert_eq!(heard.iter().collect::<Vec<_>>(), [0, 2, 3]);
}
