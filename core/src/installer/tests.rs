use std::path::Path;
use std::process::Command;

use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;

use super::*;
use crate::api::installation::RootDeviceHints;

fn hints(serial_number: Option<&str>, wwn: Option<&str>) -> RootDeviceHints {
    RootDeviceHints {
        serial_number: serial_number.map(Into::into),
        wwn: wwn.map(Into::into),
    }
}

/// The files of one host; `user` logs in.
fn of(hints: &RootDeviceHints, user: &str, preseed: &str) -> Result<Vec<File>, RenderError> {
    files(&Answers {
        id: "0123456789abcdef",
        hostname: "bm1",
        user,
        hints,
        authorized: "ssh-ed25519 AAAAours tatara",
        host_key: &SecretString::from("-----PRIVATE-----\n"),
        host_public: "ssh-ed25519 AAAAtheirs",
        report: "http://192.0.2.1:8090/media/00ff/report",
        preseed,
    })
}

fn text(files: &[File], path: &str) -> String {
    let file = files.iter().find(|file| file.path == path);
    let file = file.expect("a file of this path");
    String::from_utf8(file.content.to_vec()).expect("text")
}

#[test]
fn a_preseed_for_a_user_with_sudo() {
    let files = of(
        &hints(Some("S1"), None),
        "debian",
        "d-i mirror/http/hostname string mirror.example.com\n",
    );
    let files = files.expect("files");
    insta::assert_snapshot!(text(&files, "preseed.cfg"));
}

#[test]
fn a_preseed_for_root() {
    let files = of(&hints(Some("S1"), None), "root", "").expect("files");
    insta::assert_snapshot!(text(&files, "preseed.cfg"));
}

#[test]
fn the_scripts_of_an_installer() {
    let files = of(&hints(Some("S1"), Some("0x5000c500a1b2c3d4")), "debian", "").expect("files");
    insta::assert_snapshot!(text(&files, "tatara/disk"));
    insta::assert_snapshot!(text(&files, "tatara/late"));
    assert_eq!(
        text(&files, "tatara/ssh_host_ed25519_key"),
        "-----PRIVATE-----\n"
    );
    assert!(files.iter().all(|file| file.mode == 0o600));
}

#[test]
fn what_could_end_a_word_or_a_line_is_refused_by_name() {
    for value in ["a\"; reboot; \"", "a\nd-i x", "$(id)", "`id`", "a\\"] {
        let error = of(&hints(Some(value), None), "debian", "").err();
        let error = error.expect("a refusal").to_string();
        assert!(
            error.starts_with("rootDeviceHints.serialNumber is"),
            "{error}"
        );
        assert!(of(&hints(Some("S1"), None), value, "").is_err(), "{value}");
    }
}

/// A disk in a tree like /sys: name, size, then file and content.
type Disk<'a> = (&'a str, &'a str, &'a [(&'a str, &'a [u8])]);

/// What `disk find` prints for these disks.
fn found(folder: &Path, disks: &[Disk], hints: &RootDeviceHints) -> Vec<String> {
    let sys = folder.join("sys");
    std::fs::remove_dir_all(&sys).ok();
    for (name, size, contents) in disks {
        let disk = sys.join("block").join(name);
        std::fs::create_dir_all(disk.join("device")).expect("a folder");
        std::fs::write(disk.join("size"), size).expect("a file");
        for (file, content) in *contents {
            std::fs::write(disk.join(file), content).expect("a file");
        }
    }
    let script = folder.join("disk");
    let files = of(hints, "debian", "").expect("files");
    std::fs::write(&script, text(&files, "tatara/disk")).expect("a file");
    let output = Command::new("sh")
        .arg(&script)
        .arg("find")
        .env("TATARA_SYS", &sys)
        .output();
    let output = output.expect("sh");
    assert!(output.status.success(), "{output:?}");
    let lines = String::from_utf8(output.stdout).expect("text");
    lines.lines().map(str::to_owned).collect()
}

#[test]
fn a_disk_is_found_by_serial_and_wwn_as_each_kind_of_disk_tells_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let sata: Disk = (
        "sda",
        "1000",
        &[
            ("device/vpd_pg80", b"\0\x80\0\x14      Z1D4 5FGH    "),
            ("device/wwid", b"naa.5000c500a1b2c3d4\n"),
        ],
    );
    let twin: Disk = (
        "sdb",
        "1000",
        &[
            ("device/vpd_pg80", b"\0\x80\0\x14      Z1D4 5FGH    "),
            ("device/wwid", b"naa.5000c500ffffffff\n"),
        ],
    );
    let nvme: Disk = (
        "nvme0n1",
        "1000",
        &[
            ("device/serial", b"PHLJ1234             \n"),
            ("wwid", b"eui.01000000010000005cd2e4abcdef0000\n"),
        ],
    );
    let virtio: Disk = ("vda", "1000", &[("serial", b"root")]);
    let empty: Disk = ("sdc", "0", &[("device/vpd_pg80", b"\0\x80\0\x02NO")]);
    let cd: Disk = ("sr0", "1000", &[("device/vpd_pg80", b"\0\x80\0\x02NO")]);
    let bare: Disk = ("sdd", "1000", &[]);
    let all = [sata, twin, nvme, virtio, empty, cd, bare];
    let serial = |value| hints(Some(value), None);
    let wwn = |value| hints(None, Some(value));
    let nothing: [&str; 0] = [];
    let cases: [(&str, RootDeviceHints, &[&str]); 11] = [
        ("NVMe by serial", serial("PHLJ1234"), &["nvme0n1"]),
        ("in small letters", serial("phlj1234"), &["nvme0n1"]),
        (
            "NVMe by WWN",
            wwn("EUI.01000000010000005CD2E4ABCDEF0000"),
            &["nvme0n1"],
        ),
        ("virtio", serial("root"), &["vda"]),
        ("SATA by WWN", wwn("0x5000c500a1b2c3d4"), &["sda"]),
        ("two of one serial", serial("Z1D45FGH"), &["sda", "sdb"]),
        (
            "told apart by WWN",
            hints(Some("Z1D4 5FGH"), Some("0x5000c500ffffffff")),
            &["sdb"],
        ),
        (
            "hints that contradict",
            hints(Some("root"), Some("0x5000c500ffffffff")),
            &nothing,
        ),
        ("a part of a serial", serial("PHLJ123"), &nothing),
        ("a pattern", serial("PHLJ...."), &nothing),
        ("an empty slot, and a CD", serial("NO"), &nothing),
    ];
    for (case, hints, expected) in cases {
        assert_eq!(found(folder.path(), &all, &hints), expected, "{case}");
    }
}

#[test]
fn an_archive_is_what_cpio_reads_and_fills_the_area_to_its_end() {
    let files = of(&hints(Some("S1"), None), "debian", "").expect("files");
    let area = Area {
        offset: 4096,
        size: 65536,
    };
    let filled = area.fill(&files).expect("room");
    assert_eq!(filled.len(), area.size);
    let paths = names(&filled);
    assert_eq!(
        paths,
        [
            "preseed.cfg",
            "tatara",
            "tatara/disk",
            "tatara/late",
            "tatara/authorized_keys",
            "tatara/ssh_host_ed25519_key.pub",
            "tatara/ssh_host_ed25519_key",
            "TRAILER!!!",
        ]
    );
    let full = Area { size: 4096, ..area }
        .fill(&files)
        .expect_err("no room");
    assert!(matches!(full, AreaError::Full { size: 4096, .. }), "{full}");
}

/// The paths in an archive, read back by the rules of the format.
fn names(archive: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut at = 0;
    while names.last().is_none_or(|name| name != "TRAILER!!!") {
        assert_eq!(&archive[at..at + 6], b"070701", "at {at}");
        let field = |number: usize| {
            let begin = at + 6 + 8 * number;
            let digits = std::str::from_utf8(&archive[begin..begin + 8]).expect("digits");
            usize::from_str_radix(digits, 16).expect("a number")
        };
        let (size, length) = (field(6), field(11));
        let name = &archive[at + 110..at + 110 + length - 1];
        names.push(String::from_utf8(name.to_vec()).expect("text"));
        at = (at + 110 + length).next_multiple_of(4) + size;
        at = at.next_multiple_of(4);
    }
    assert!(archive[at..].iter().all(|byte| *byte == 0));
    names
}

#[test]
fn an_area_is_found_however_the_image_is_cut_and_only_one_will_do() {
    let area = empty_area(8192).expect("room");
    let look = |image: &[u8], piece: usize| {
        let mut finder = Finder::default();
        image.chunks(piece).for_each(|piece| finder.feed(piece));
        finder.end()
    };
    let mut image = vec![7; 2048 * 5];
    image.extend(area.iter());
    image.extend([1; 99]);
    for piece in [1, 7, 2048, 3000, image.len()] {
        let expected = Area {
            offset: 2048 * 5,
            size: 8192,
        };
        assert_eq!(look(&image, piece), Ok(expected), "{piece}");
    }
    assert_eq!(look(&image[..2048 * 5], 99), Err(AreaError::None));
    assert_eq!(
        look(&image[..2048 * 8], 99),
        Err(AreaError::Cut { size: 8192 })
    );
    // not at the beginning of a block: text that speaks of an area is none
    assert_eq!(look(&image[1..], 99), Err(AreaError::None));
    let twice = [image.as_slice(), &[0; 2048 - 99], &area].concat();
    assert_eq!(look(&twice, 99), Err(AreaError::Several { count: 2 }));
    let filled = Area {
        offset: 0,
        size: 8192,
    }
    .fill(&[File {
        path: "a",
        mode: 0o600,
        content: Zeroizing::new(vec![1]),
    }]);
    assert_eq!(look(&filled.expect("room"), 99), Err(AreaError::None));
}
