//! An HTTPS API for libvirt, beside libvirtd on each hypervisor. It keeps no state that libvirt does not have.
//!
//! | module | what it holds |
//! |---|---|
//! | [`api`] | routes, problems, and the description of both |
//! | [`machines`] | create, read, delete, power, seed and console of machines |
//! | [`images`] | images: fetched once, verified, shared by disks |
//! | [`events`] | one poll of libvirt for all listeners; differences only |
//! | [`libvirt`] | the connection, and what is read from and written to libvirt |
//! | [`seed`] | the volume that cloud-init reads |
//! | [`field`] | checks of single fields |
//! | [`auth`] | who may ask: client certificates, bearer tokens, the Unix socket |
//! | [`server`] | listeners, TLS, graceful end |
//!
//! What the manager is built from as well stands in packages of their own: `wire/`, what is sent and received (here as
//! [`api::types`]), and `net/`, who may be connected and has proved nothing yet.

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
