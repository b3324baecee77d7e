//! What an effect on a Cluster requires of what was read live just before it: from those facts to
//! "go on", or why not.

pub mod end;
pub mod orphaned_member;
pub mod settings;
