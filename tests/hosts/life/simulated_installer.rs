//! A simulated installer: it reads its image as a BMC does, runs the scripts that are in it, and gives a host a new disk.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::life::reinstall::{HOST, NAME, SUBNET};
use crate::support::commands::both;
use crate::support::image::AREA;
use crate::support::world::root;

/// `hack/fleet` of this world, for threads of their own.
#[derive(Clone)]
pub struct Fleet {
    pub state: PathBuf,
}

impl Fleet {
    pub fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(root().join("hack/fleet"));
        command
            .env("FLEET", NAME)
            .env("SUBNET", SUBNET)
            .env("TATARA_OWNER", std::process::id().to_string())
            .env("TATARA_STATE", &self.state);
        let output = command.args(arguments).output().expect("hack/fleet");
        assert!(output.status.success(), "{arguments:?}: {}", both(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

pub fn address() -> String {
    format!("{SUBNET}.12")
}

pub fn curl(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("curl").arg("-sf").args(arguments).output();
    let output = output.expect("curl");
    assert!(output.status.success(), "{arguments:?}: {}", both(&output));
    output.stdout
}

/// Reads its image in pieces, finds the disk with the script in it, gives the host an empty disk, and runs there the
/// script that real installers run at their end. It switches the host off.
pub fn simulated_installer(fleet: &Fleet, image: &str, disks: &[&str]) {
    let begin = usize::try_from(AREA.offset).expect("an offset");
    let area: Vec<u8> = (begin..begin + AREA.size)
        .step_by(10_000)
        .flat_map(|at| {
            let end = (at + 10_000).min(begin + AREA.size);
            curl(&["-r", &format!("{at}-{}", end - 1), image])
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    unpack(&area, folder.path());
    let preseed = std::fs::read_to_string(folder.path().join("preseed.cfg")).expect("a preseed");
    for line in [
        "partman/early_command string sh /tatara/disk",
        "exit/poweroff boolean true",
    ] {
        assert!(preseed.contains(line), "{line}");
    }
    let report = image.replace("installer.iso", "report");
    let report = |word: &str| curl(&["-X", "POST", &format!("{report}/{word}")]);
    match found(folder.path(), disks) {
        0 => drop(report("no-disk")),
        1 => {
            report("started");
            fleet.run(&["rm", HOST]);
            fleet.run(&["start", HOST, &address()]);
            fleet.run(&["wait", HOST]);
            let scripts = folder.path().join("tatara");
            fleet.run(&["put", HOST, scripts.to_str().expect("a path"), "/tatara"]);
            let late = "TATARA_HERE=/tatara TATARA_TARGET=/. sh /tatara/late; rm -rf /tatara; sync";
            fleet.run(&["ssh", HOST, late]);
            report("installed");
            fleet.run(&["kill", HOST]);
        }
        _ => drop(report("several-disks")),
    }
}

/// How many of these disks match, by the script of the installer.
fn found(folder: &Path, disks: &[&str]) -> usize {
    let sys = folder.join("sys");
    for (number, serial) in disks.iter().enumerate() {
        let disk = sys.join(format!("block/nvme{number}n1"));
        std::fs::create_dir_all(disk.join("device")).expect("a folder");
        std::fs::write(disk.join("size"), "1000").expect("a file");
        std::fs::write(disk.join("device/serial"), serial).expect("a file");
    }
    let script = folder.join("tatara/disk");
    let output = Command::new("sh")
        .arg(script)
        .arg("find")
        .env("TATARA_SYS", sys)
        .output();
    String::from_utf8_lossy(&output.expect("sh").stdout)
        .lines()
        .count()
}

/// Files of an archive, as Linux reads it.
fn unpack(archive: &[u8], folder: &Path) {
    let mut at = 0;
    loop {
        assert_eq!(&archive[at..at + 6], b"070701");
        let field = |number: usize| {
            let digits = &archive[at + 6 + 8 * number..at + 14 + 8 * number];
            let digits = std::str::from_utf8(digits).expect("digits");
            usize::from_str_radix(digits, 16).expect("a number")
        };
        let (mode, size, length) = (field(1), field(6), field(11));
        let name = std::str::from_utf8(&archive[at + 110..at + 109 + length]).expect("a name");
        let content = (at + 110 + length).next_multiple_of(4);
        if name == "TRAILER!!!" {
            return;
        }
        if mode & 0o040_000 != 0 {
            std::fs::create_dir_all(folder.join(name)).expect("a folder");
        } else {
            std::fs::write(folder.join(name), &archive[content..content + size]).expect("a file");
        }
        at = (content + size).next_multiple_of(4);
    }
}
