//! One host, or a few: its scripts and units, driven through OpenSSH, with systemd, flock, containerd and kubeadm as they are,
//! and no manager. By name before `life`: most of it runs beside the world that has the machine to itself among the others.

mod address;
mod by_hand;
mod cluster;
mod disk;
mod faults;
pub mod fleet;
mod install;
mod killed;
mod late;
mod life;
mod login;
mod moved;
mod protocol;
mod rpm;
mod secrets;
mod strangers;
mod unfit;
