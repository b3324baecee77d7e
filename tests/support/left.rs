//! What a world leaves on the machine when it is taken away: nothing.

use std::path::Path;
use std::process::Command;

/// Kernel settings that a fleet raises while one is up.
const RAISED: [&str; 2] = ["fs/inotify/max_user_instances", "net/ipv4/ip_forward"];
/// Those that kubelets and kube-proxies write; hosts have files of their own for them.
const OF_NODES: [&str; 7] = [
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "net/netfilter/nf_conntrack_max",
];
/// What all fleets of the machine have changed, and which there are.
const MACHINE: &str = "/run/tatara";

/// Kernel settings by name. Of those that another fleet may raise meanwhile only when there is none.
pub fn settings() -> Vec<(&'static str, String)> {
    let alone = names(&Path::new(MACHINE).join("fleets")).is_empty();
    let raised = RAISED.into_iter().filter(|_| alone);
    let value = |name: &'static str| {
        let text = std::fs::read_to_string(Path::new("/proc/sys").join(name));
        (name, text.unwrap_or_default().trim().to_owned())
    };
    OF_NODES.into_iter().chain(raised).map(value).collect()
}

/// Everything that is still there of the fleet `name` with its state in `state`, and kernel settings that are not as
/// they were `before`.
pub fn of(name: &str, state: &Path, before: &[(&'static str, String)]) -> Vec<String> {
    let mut left = Vec::new();
    let namespaces = names(Path::new("/run/netns")).into_iter();
    left.extend(namespaces.filter(|found| found.starts_with(&format!("{name}-"))));
    let cgroups = format!("find /sys/fs/cgroup -maxdepth 3 -name tatara-{name} 2>/dev/null; true");
    let table = format!("nft list tables | grep -w tatara_{name} || true");
    let link = format!("ip -o link | grep -w {name}-up || true");
    for command in [cgroups, table, link] {
        let output = Command::new("sh").args(["-c", &command]).output();
        let output = output.expect("a shell");
        assert!(output.status.success(), "{command}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        left.extend(text.lines().map(ToOwned::to_owned));
    }
    let state = state.to_str().expect("a path in UTF-8");
    let mounts = std::fs::read_to_string("/proc/mounts").expect("the mounts");
    left.extend(
        mounts
            .lines()
            .filter(|line| line.contains(state))
            .map(ToOwned::to_owned),
    );
    left.extend(processes(state));
    if names(&Path::new(MACHINE).join("fleets")).is_empty() {
        let saved = names(&Path::new(MACHINE).join("sysctl")).into_iter();
        left.extend(saved.map(|name| format!("{name} is not put back")));
    }
    let now = settings();
    // one that was not there came with a module of the kernel
    let known = before.iter().filter(|(_, was)| !was.is_empty());
    let changed = known.filter_map(|(name, was)| {
        let (_, is) = now.iter().find(|(other, _)| other == name)?;
        (is != was).then(|| format!("{name} was {was}, is {is}"))
    });
    left.extend(changed);
    left
}

/// Processes whose command line names this folder.
fn processes(folder: &str) -> Vec<String> {
    let ids = names(Path::new("/proc")).into_iter();
    let lines = ids.filter_map(|id| {
        let line = std::fs::read(Path::new("/proc").join(&id).join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(folder)
            .then(|| format!("process {id}: {line}"))
    });
    lines.collect()
}

/// What a folder holds; nothing when it is not there.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
