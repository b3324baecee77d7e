//! A run that was killed costs the next one nothing, and what is another's is not taken down.

use std::path::Path;
use std::process::{Command, Output};

use crate::host::fleet::{lossy, root};

/// A script of `hack/` for a run with a folder of its own, as long as the process `owner` lives.
fn hack(script: &[&str], subnet: &str, folder: &Path, owner: u32) -> Output {
    let mut command = Command::new(root().join("hack").join(script[0]));
    command
        .env("FLEET", "ndkilled")
        .env("SUBNET", subnet)
        .env("TATARA_OWNER", owner.to_string())
        .env("TATARA_STATE", folder);
    command.args(&script[1..]).output().unwrap()
}

/// `up` and `down` are the scripts that make and remove what has its state in the folder `name`.
fn belongs_to_its_run_until_that_has_ended(up: &[&str], down: &[&str], name: &str, subnet: &str) {
    let hack = |script, folder, owner| hack(script, subnet, folder, owner);
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let there = |folder: &tempfile::TempDir| folder.path().join(name).exists();
    let me = std::process::id();
    let mut owner = Command::new("sleep").arg("1000").spawn().unwrap();
    let made = hack(up, first.path(), owner.id());
    assert!(made.status.success(), "{}", lossy(&made.stderr));

    let refused = hack(up, second.path(), me);
    let words = lossy(&refused.stderr);
    assert!(words.contains("is up already with its state in"), "{words}");
    let left_alone = hack(down, second.path(), me);
    let words = lossy(&left_alone.stderr);
    assert!(words.contains("is left alone"), "{words}");
    assert!(there(&first) && !there(&second));

    owner.kill().unwrap();
    owner.wait().unwrap();
    let late = hack(up, first.path(), owner.id());
    let words = lossy(&late.stderr);
    assert!(
        words.contains("has ended"),
        "a child that outlives its run: {words}"
    );
    let taken = hack(up, second.path(), me);
    assert!(taken.status.success(), "{}", lossy(&taken.stderr));
    assert!(there(&second) && !there(&first));
    let removed = hack(down, second.path(), me);
    assert!(removed.status.success(), "{}", lossy(&removed.stderr));
}

#[test]
fn a_fleet_belongs_to_its_run_until_that_has_ended() {
    belongs_to_its_run_until_that_has_ended(
        &["fleet", "net-up"],
        &["fleet", "down"],
        "ndkilled",
        "10.110.0",
    );
}

#[test]
fn a_hypervisor_belongs_to_its_run_until_that_has_ended() {
    let (up, down) = (
        ["libvirt", "up", "ndkilled"],
        ["libvirt", "down", "ndkilled"],
    );
    belongs_to_its_run_until_that_has_ended(&up, &down, "virt.ndkilled", "10.111.0");
}
