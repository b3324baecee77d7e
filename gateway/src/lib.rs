//! An HTTPS API for libvirt that runs next to libvirtd on each hypervisor. All durable state is in
//! libvirt.
//!
//! | module | content |
//! |---|---|
//! | [`api`] | routes, problem responses, and their API description |
//! | [`machines`] | create, read, delete, power, seed and console of machines |
//! | [`images`] | images: downloaded once, verified, shared as backing files of disks |
//! | [`events`] | one poll of libvirt for all event streams; only changes are sent |
//! | [`libvirt`] | the connection, and everything read from and written to libvirt |
//! | [`seed`] | the volume that cloud-init reads |
//! | [`field`] | checks of single fields |
//! | [`auth`] | authentication: client certificates, bearer tokens, the Unix socket |
//! | [`server`] | listeners, TLS, graceful shutdown |
//!
//! Code shared with the manager is in separate packages: `wire/`, the types of the protocol (here
//! as [`api::types`]), and `net/`, the limits on unauthenticated connections.

pub mod api;
pub mod app;
pub mod args;
pub mod auth;
pub mod clock;
pub mod events;
pub mod field;
pub mod images;
pub mod libvirt;
pub mod log;
pub mod machines;
pub mod seed;
pub mod server;
