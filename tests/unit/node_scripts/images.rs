//! Archives of container images: a host imports each once, whichever unit comes first.

use super::*;

/// Of what the server of this test has: "x" and a newline.
const SUM: &str = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac";

/// Runs the step `images` of a unit on the host of this machine, and returns what it printed.
fn import(machine: &Path, unit: &Unit) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let (programs, folder) = (machine.join("bin"), machine.join(unit.kind.as_str()));
    std::fs::create_dir_all(&programs).unwrap();
    std::fs::create_dir_all(&folder).unwrap();
    let curl = "while (($#)); do [[ $1 != -o ]] || echo x >\"$2\"; shift; done; printf 200";
    // what containerd has is in a file, so that a test can take it away as the kubelet does
    let images = machine.join("in-containerd");
    let ctr = format!(
        "if [[ $4 == ls ]]; then cat {0} 2>/dev/null; exit 0; fi\necho registry.example/x:1 >{0}\necho \"ctr $3 $4\"; echo 'unpacking registry.example/x:1 (sha256:1)...done'",
        images.display()
    );
    for (name, text) in [("curl", curl), ("ctr", &*ctr)] {
        let path = programs.join(name);
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let step = unit.steps.iter().find(|step| step.name == "images");
    let script = folder.join("images.sh");
    std::fs::write(&script, &step.unwrap().script).unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .arg(&script)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("TATARA_UNIT", &folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!folder.join("images.download").exists());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_update_imports_the_archives_that_are_new() {
    let machine = tempfile::tempdir().unwrap();
    let mut settings = settings(SoftwareSource::Packages, true);
    let upgraded = |settings: &NodeSettings| {
        on_host(Role::Worker, settings, false, |input| {
            archives(input).map(|unit| unit.expect("archives"))
        })
    };
    settings.software.image_archives = vec![format!("http://x/old#sha256={SUM}")];
    let imported = "importing http://x/old\nctr images import\nunpacking registry.example/x:1 (sha256:1)...done\n";
    let prepared = prepared(Role::Worker, &settings, false);
    assert_eq!(import(machine.path(), &prepared), imported);
    let before = "http://x/old was imported before\n";
    assert_eq!(import(machine.path(), &upgraded(&settings)), before);

    // another archive has another checksum: this one as if the first had had it
    let note = |sum: &str| machine.path().join(format!("image-{sum}"));
    std::fs::rename(note(SUM), note(&"0".repeat(64))).unwrap();
    let old = format!("http://x/old#sha256={}", "0".repeat(64));
    settings.software.image_archives = vec![old, format!("http://x/new#sha256={SUM}")];
    let wanted = "http://x/old was imported before\nimporting http://x/new\nctr images import\nunpacking registry.example/x:1 (sha256:1)...done\n";
    assert_eq!(import(machine.path(), &upgraded(&settings)), wanted);
    let again = import(machine.path(), &upgraded(&settings));
    assert_eq!(again, format!("{before}http://x/new was imported before\n"));
}

/// Unused images are what the kubelet removes first when a disk fills up.
#[test]
fn an_archive_whose_images_are_gone_is_imported_again() {
    let machine = tempfile::tempdir().unwrap();
    let mut settings = settings(SoftwareSource::Packages, true);
    settings.software.image_archives = vec![format!("http://x/old#sha256={SUM}")];
    let prepared = prepared(Role::Worker, &settings, false);
    let imports = || import(machine.path(), &prepared).contains("ctr images import");
    assert!(imports());
    assert!(!imports());
    std::fs::write(
        machine.path().join("in-containerd"),
        "registry.example/y:1\n",
    )
    .unwrap();
    assert!(imports());
    assert!(!imports());
    // as it was noted before: of which images is not known
    std::fs::write(machine.path().join(format!("image-{SUM}")), "").unwrap();
    assert!(imports());
}
