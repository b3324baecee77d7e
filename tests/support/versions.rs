//! The versions of hack/versions, and manifests that begin with others.

use super::world::{World, root};

/// A version that hack/versions pins.
pub fn pinned(name: &str) -> String {
    let text = std::fs::read_to_string(root().join("hack/versions")).expect("hack/versions");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name}=")));
    let words = line.expect("a version").split_whitespace();
    words.into_iter().next().expect("a version").to_owned()
}

/// Changes the manifest of the machines that are about to be applied.
pub fn edit_machines(world: &World, edit: impl FnOnce(String) -> String) {
    edit_manifest(world, "30-machines.yaml", edit);
}

/// Changes a manifest that is about to be applied.
pub fn edit_manifest(world: &World, file: &str, edit: impl FnOnce(String) -> String) {
    let path = world.run().join("manifests").join(file);
    let text = std::fs::read_to_string(&path).expect("the manifests");
    std::fs::write(path, edit(text)).expect("a file");
}
