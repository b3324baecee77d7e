//! One watch per kind, indexed; wakes controllers.
