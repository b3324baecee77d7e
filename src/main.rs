//! The `tatara` binary.

fn main() {}
