//! The steps on real hosts, driven through OpenSSH: systemd, flock, containerd and kubeadm as they are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fleet;
mod protocol;
