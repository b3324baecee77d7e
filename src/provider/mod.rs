//! Where machines come from.
