//! The SSH layer against real sshds on loopback. They need root and `/usr/sbin/sshd`.

mod sshd;

mod commands;
