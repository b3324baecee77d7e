//! The manager as its image has it, not as the build left it: the program runs in the image's own file system.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::manager::installs::{ask, bmc_secret, field};
use crate::manager::world::{World, repository};
use crate::support::bmc::{SimulatedBmc, State};
use crate::support::commands::done;
use crate::support::image::{Origin, image};
use crate::support::wait::until_true;

/// Packs the program of this build, and unpacks the layers of the image below `folder`. Returns their root.
fn unpacked(folder: &Path) -> std::path::PathBuf {
    let (archive, layout, root) = (
        folder.join("image.tar"),
        folder.join("layout"),
        folder.join("root"),
    );
    let mut pack = Command::new(repository("hack/manager-image"));
    pack.env("TATARA_BINARY", env!("CARGO_BIN_EXE_tatara"));
    done(pack.arg(&archive));
    let unpack = |archive: &Path, to: &Path| {
        fs::create_dir_all(to).expect("a folder");
        let mut tar = Command::new("tar");
        done(tar.arg("-xf").arg(archive).arg("-C").arg(to));
    };
    unpack(&archive, &layout);
    let manifest = fs::read(layout.join("manifest.json")).expect("a manifest");
    let manifest: Value = serde_json::from_slice(&manifest).expect("JSON");
    for layer in manifest[0]["Layers"].as_array().expect("layers") {
        unpack(&layout.join(layer.as_str().expect("a path")), &root);
    }
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).expect("its mode");
    root
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane, and root"]
async fn the_packed_manager_fetches_an_image_over_https_by_the_authorities_in_its_image() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = unpacked(folder.path());
    let mut world = World::new("packed").await;
    world.kill_manager();
    world.start_packed_manager(&root);
    world.until_leading().await;
    bmc_secret(&world);
    let (origin, authority) = Origin::over_tls(image(true)).await;

    // an authority that the image does not have, beside those that it has
    let strange = SimulatedBmc::start(State::default()).await;
    ask(&world, "strange", 21, &strange, (&origin.iso, 10));
    let says = field("Installed", "reason");
    world
        .until_says("host/strange", "InstallerUnavailable", &says)
        .await;
    let message = world.says("host/strange", &field("Installed", "message"));
    assert!(message.contains("UnknownIssuer"), "{message}");
    assert_eq!(origin.asked(), 0);

    // as somebody mounts a file with an authority of their own there
    world.kill_manager();
    let roots = root.join("etc/ssl/certs/ca-certificates.crt");
    let mut roots = fs::OpenOptions::new()
        .append(true)
        .open(roots)
        .expect("authorities in the image");
    roots.write_all(authority.as_bytes()).expect("one more");
    world.start_packed_manager(&root);
    world.until_leading().await;
    let known = SimulatedBmc::start(State::default()).await;
    ask(&world, "known", 22, &known, (&origin.iso, 600));
    until_true("an installer made of the image", || {
        !known.state().images.is_empty()
    })
    .await;
    assert_eq!(origin.asked(), 1);
}
