//! The steps on real hosts, driven through OpenSSH: systemd, flock, containerd and kubeadm as they are.
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
