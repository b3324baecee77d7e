//! The steps on real hosts, driven through OpenSSH: systemd, flock, containerd and kubeadm as they are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod address;
mod by_hand;
#[path = "../support/canaries.rs"]
mod canaries;
mod cluster;
mod disk;
mod faults;
mod fleet;
mod install;
mod killed;
mod life;
mod login;
mod moved;
mod protocol;
mod rpm;
mod secrets;
mod strangers;
mod unfit;
