//! The steps that run on a host, rendered from `templates/node/`; no I/O.
