//! A run that was killed costs the next one nothing.

use std::path::Path;
use std::process::{Command, Output};

use crate::fleet::{lossy, root};

/// `hack/fleet` for a run with a folder of its own, as long as the process `owner` lives.
fn fleet(action: &str, folder: &Path, owner: u32) -> Output {
    let mut command = Command::new(root().join("hack/fleet"));
    command
        .env("FLEET", "ndkilled")
        .env("SUBNET", "10.110.0")
        .env("TATARA_OWNER", owner.to_string())
        .env("TATARA_STATE", folder);
    command.arg(action).output().unwrap()
}

#[test]
fn a_fleet_belongs_to_its_run_until_that_has_ended() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let there = |folder: &tempfile::TempDir| folder.path().join("ndkilled").exists();
    let mut owner = Command::new("sleep").arg("1000").spawn().unwrap();
    assert!(fleet("net-up", first.path(), owner.id()).status.success());

    let refused = fleet("net-up", second.path(), std::process::id());
    let words = lossy(&refused.stderr);
    assert!(words.contains("is up already with its state in"), "{words}");
    assert!(there(&first) && !there(&second));

    owner.kill().unwrap();
    owner.wait().unwrap();
    let taken = fleet("net-up", second.path(), std::process::id());
    assert!(taken.status.success(), "{}", lossy(&taken.stderr));
    assert!(there(&second) && !there(&first));
    let down = fleet("down", second.path(), std::process::id());
    assert!(down.status.success(), "{}", lossy(&down.stderr));
}
