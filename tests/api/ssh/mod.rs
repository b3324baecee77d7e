//! The SSH layer against real sshds on loopback. They need root, `/usr/sbin/sshd` and `ssh-keygen`.

pub mod sshd;

mod commands;
mod connecting;
mod contract;
mod credentials;
mod jumping;
mod pooling;
mod privilege;
mod tunnelling;
