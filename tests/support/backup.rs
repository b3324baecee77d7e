//! A backup of the management cluster's state, and its restoration, while the clusters that it made run on.

use std::process::Command;

use super::commands::done;
use super::world::World;

/// With everything stopped, as `etcdctl snapshot` would have it.
pub async fn backup(world: &World) {
    world.kill_manager().await;
    world.plane("down", &[]);
    let dir = world.run().join("management");
    done(
        Command::new("cp")
            .arg("-a")
            .arg(dir.join("etcd"))
            .arg(dir.join("backup")),
    );
    start(world);
}

/// The state of the last backup, which is used up, and a manager on it.
pub async fn restore(world: &World) {
    if !world.manager_ended() {
        world.kill_manager().await;
    }
    world.plane("down", &[]);
    let dir = world.run().join("management");
    std::fs::remove_dir_all(dir.join("etcd")).expect("etcd's data");
    std::fs::rename(dir.join("backup"), dir.join("etcd")).expect("the backup");
    start(world);
}

fn start(world: &World) {
    world.plane("up", &[]);
    world.kubectl(&[
        "-n",
        "tatara-system",
        "delete",
        "lease",
        "tatara",
        "--ignore-not-found",
    ]);
    world.quickstart("manager");
}
