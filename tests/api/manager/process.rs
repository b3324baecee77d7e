//! The manager's process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::commands::done;
use crate::support::plane::Plane;
use crate::support::ports;

/// All that tests have runs on one machine.
const LOCAL: [&str; 2] = ["manager", "--allow-local-endpoints"];

/// The manager, as its service account.
pub fn manage(plane: &Plane, dir: &Path, identity: &str) -> Child {
    manage_with(&LOCAL, plane, dir, identity)
}

/// As it is shipped: what users write leads it to no loopback address.
pub fn manage_guarded(plane: &Plane, dir: &Path, identity: &str) -> Child {
    manage_with(&["manager"], plane, dir, identity)
}

fn manage_with(arguments: &[&str], plane: &Plane, dir: &Path, identity: &str) -> Child {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tatara"));
    program.args(arguments);
    let places = [dir.join("kubeconfig"), dir.join("media")];
    run(program, places, plane, dir, identity)
}

/// The manager of an image, with nothing but what is unpacked at `root`, as the image's user.
pub fn manage_packed(root: &Path, plane: &Plane, dir: &Path, identity: &str) -> Child {
    let mut program = Command::new("/usr/sbin/chroot");
    program.env_clear().arg("--userspec=65532:65532");
    program.arg(root).arg("/tatara").args(LOCAL);
    let places = ["/etc/kubeconfig", "/tmp/media"].map(PathBuf::from);
    let kubeconfig = root.join("etc/kubeconfig");
    fs::write(&kubeconfig, kubeconfig_of_manager(plane)).expect("a file");
    run(program, places, plane, dir, identity)
}

fn kubeconfig_of_manager(plane: &Plane) -> String {
    let account = ["tatara-manager", "tatara-system"];
    done(&mut plane.command(&["kubeconfig"], &account))
}

fn run(
    mut program: Command,
    [kubeconfig, media_folder]: [PathBuf; 2],
    plane: &Plane,
    dir: &Path,
    identity: &str,
) -> Child {
    fs::write(dir.join("kubeconfig"), kubeconfig_of_manager(plane)).expect("a file");
    let media = media_address(dir);
    program
        .args(["--http-address", "127.0.0.1:0"])
        .args([
            "--media-address",
            &media,
            "--media-url",
            &format!("http://{media}"),
        ])
        .arg("--media-folder")
        .arg(media_folder)
        .env("KUBECONFIG", kubeconfig)
        .env("POD_NAME", identity)
        .stdin(Stdio::null())
        .stderr(File::create(dir.join(format!("{identity}.log"))).expect("a file"))
        .spawn()
        .expect("the manager")
}

/// Where the managers of a world serve installers.
fn media_address(dir: &Path) -> String {
    let kept = dir.join("media-address");
    if let Ok(address) = fs::read_to_string(&kept) {
        return address;
    }
    let address = ports::free().to_string();
    fs::write(&kept, &address).expect("a file");
    address
}
