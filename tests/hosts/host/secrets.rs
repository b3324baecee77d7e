//! Secrets stay where they belong: every real key and token of a cluster is searched for on its hosts,
//! in their journals and logs, and on command lines.

use secrecy::ExposeSecret as _;
use tatara_core::node::Unit;

use crate::host::cluster::Cluster;
use crate::host::fleet::{Fleet, lossy};
use crate::support::canaries::Canaries;

/// Where keys and tokens live on a node, readable by root alone.
const HOMES: [&str; 3] = [
    "/etc/kubernetes/",
    "/var/lib/etcd/member/",
    "/var/lib/kubelet/",
];
/// Everything on a host that is written to, but `/proc` and `/sys`.
const FOLDERS: &str = "/boot /dev/shm /etc /home /opt /root /run /srv /tmp /usr/local /var";

/// The keys that Tatara made, and those that kubeadm made of them on the hosts.
pub fn of(cluster: &Cluster<'_>, hosts: &[&str]) -> Canaries {
    let mut canaries = Canaries::new();
    for file in cluster.keys() {
        canaries.key(&file.path, file.content.expose_secret());
    }
    for host in hosts {
        let text = cluster.fleet.shell(
            host,
            "find /etc/kubernetes/pki /var/lib/kubelet/pki -name '*.key' -o -name '*.pem' -type f 2>/dev/null | while read -r file; do echo \"file: $file\"; cat \"$file\"; done",
        );
        let mut found = 0;
        for part in text
            .split("file: ")
            .filter(|part| part.contains("PRIVATE KEY-----"))
        {
            let (path, pem) = part.split_once('\n').unwrap();
            canaries.key(&format!("{host}:{path}"), pem);
            found += 1;
        }
        assert!(found > 0, "{host} has no key");
        let text = cluster.fleet.shell(host, "cat /etc/kubernetes/*.conf");
        canaries.keys_in_base64(&format!("{host}: kubeconfigs"), &text);
    }
    canaries
}

/// The token that a join carries.
pub fn token_of(join: &Unit) -> String {
    let document = join.secrets.iter().find(|file| file.name == "kubeadm.yaml");
    let document = document.unwrap().content.expose_secret();
    let token = document
        .lines()
        .find_map(|line| line.trim().strip_prefix("token: "));
    token.unwrap().trim_matches('"').to_owned()
}

/// Where a host holds any of them: paths, and `journal`.
fn found(fleet: &Fleet, host: &str, canaries: &Canaries) -> (Vec<String>, Vec<String>) {
    let put = fleet.feed_as(
        "root",
        host,
        &["umask 077; cat >/run/canaries"],
        &canaries.patterns(),
    );
    assert!(put.status.success());
    let all = fleet.shell(
        host,
        &format!(
            "grep -rlaF -D skip -f /run/canaries {FOLDERS} 2>/dev/null | grep -vx /run/canaries
            journalctl --no-pager --all --output=json | grep -qaF -f /run/canaries && echo journal; true"
        ),
    );
    let anybody = fleet.shell(
        host,
        &format!("runuser -u nosudo -- grep -rlaF -D skip -f /dev/stdin {FOLDERS} </run/canaries 2>/dev/null; rm /run/canaries"),
    );
    let lines = |text: &str| text.lines().map(ToOwned::to_owned).collect();
    (lines(&all), lines(&anybody))
}

/// They are in the files of Kubernetes and nowhere else, and nobody but root can read them.
pub fn are_at_home(fleet: &Fleet, host: &str, canaries: &Canaries) {
    let (all, anybody) = found(fleet, host, canaries);
    assert!(!all.is_empty(), "{host}: the search finds nothing at all");
    let astray: Vec<_> = all
        .iter()
        .filter(|path| !HOMES.iter().any(|home| path.starts_with(home)))
        .collect();
    assert_eq!(astray, Vec::<&String>::new(), "{host}");
    assert_eq!(anybody, Vec::<String>::new(), "{host}: readable by anybody");
}

/// A reset left none of them.
pub fn are_gone(fleet: &Fleet, host: &str, canaries: &Canaries) {
    let nothing = (Vec::<String>::new(), Vec::<String>::new());
    assert_eq!(found(fleet, host, canaries), nothing, "{host}");
    let units = fleet.shell(host, "systemctl show --all 'tatara-*' 2>/dev/null; true");
    assert!(canaries.found_in(units.as_bytes()).is_empty(), "{host}");
    let observed = fleet.run(host, &tatara_core::node::observe(None).unwrap());
    assert!(
        canaries.found_in(&observed).is_empty(),
        "{}",
        lossy(&observed)
    );
}
