//! Who may have the virtual IP: the check that keepalived runs, against machines that answer or do not.

use super::*;

/// A folder in place of `/etc`, `/run` and `/var`, and programs in place of those of a host.
struct Host(tempfile::TempDir);

impl Host {
    fn new() -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        // answers at the addresses in $ANSWERS, and only to who can verify it
        host.program(
            "curl",
            r#"while (($#)); do
  case $1 in --insecure) exit 60 ;; --cacert) ca=$2 ;; --connect-to) to=$2 ;; https://*) url=$1 ;; esac
  shift
done
[[ -s ${ca-} && $url == https://kubernetes.default.svc:6443/* ]] || { printf 000; exit 60; }
to=${to#::}
[[ " $ANSWERS " == *" ${to%:6443} "* ]] || { printf 000; exit 7; }
printf 200"#,
        );
        host.program("ip", "true");
        host
    }

    fn program(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = self.0.path().join("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn run(&self, script: &str, arguments: &[&str], answers: &str) -> std::process::Output {
        let mut script = script.to_owned();
        for folder in ["/etc/", "/run/", "/var/"] {
            script = script.replace(folder, &format!("@ROOT@{folder}"));
        }
        let script = script.replace("@ROOT@", self.0.path().to_str().unwrap());
        let path = std::env::var("PATH").unwrap();
        let programs = self.0.path().join("bin");
        Command::new("bash")
            .args(["-c", &script, "check"])
            .args(arguments)
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("ANSWERS", answers)
            .output()
            .unwrap()
    }
}

/// The check that the step of a machine with these peers installs.
fn check(peers: &[String]) -> String {
    let unit = init(bootstrap(peers)).render().unwrap();
    let step = unit.steps.iter().find(|step| step.name == "virtual-ip");
    let script = &step.unwrap().script;
    let (_, rest) = script
        .split_once("install_file 755 \"$CHECK\" <<'F'\n")
        .unwrap();
    rest.split_once("\nF\n").unwrap().0.to_owned()
}

/// The truth table of the check. Nothing is remembered, so that a boot, a fence and a lost network are the same to it.
#[test]
fn a_machine_stands_aside_while_its_api_server_is_silent_and_another_one_answers() {
    let peers = ["10.0.0.2".to_owned(), "10.0.0.3".to_owned()];
    let cases: [(&str, &[String], &str, bool, bool); 9] = [
        // who answers; whether its own API server lives; whether it may have the address
        ("the first machine before init", &[], "", false, true),
        ("alone, boots", &[], "", false, true),
        ("alone, serves", &[], "127.0.0.1 10.0.0.100", true, true),
        ("all boot, or crash", &peers, "", false, true),
        (
            "it serves, no other does",
            &peers,
            "127.0.0.1 10.0.0.100",
            true,
            true,
        ),
        (
            "all serve",
            &peers,
            "127.0.0.1 10.0.0.2 10.0.0.3 10.0.0.100",
            true,
            true,
        ),
        (
            "removed, comes back",
            &peers,
            "10.0.0.2 10.0.0.3 10.0.0.100",
            false,
            false,
        ),
        (
            "removed, and has the address too",
            &peers,
            "10.0.0.3",
            false,
            false,
        ),
        (
            "removed, and none of the peers that it knew is left",
            &peers,
            "10.0.0.100",
            false,
            false,
        ),
    ];
    for (what, peers, answers, lives, may) in cases {
        let host = Host::new();
        host.file("etc/kubernetes/pki/ca.crt", "a certificate");
        let check = check(peers);
        let ends = |arguments: &[&str]| host.run(&check, arguments, answers).status.code();
        assert_eq!(ends(&[]), Some(i32::from(!lives)), "{what}: its server");
        assert_eq!(ends(&["part"]), Some(i32::from(!may)), "{what}: its part");
    }
}

/// What answers at an address of its own is its own API server, whose answer at another address may be late.
#[test]
fn a_machine_is_no_other_to_itself() {
    let host = Host::new();
    host.file("etc/kubernetes/pki/ca.crt", "a certificate");
    let part = |peers: &[String], answers: &str| {
        let output = host.run(&check(peers), &["part"], answers);
        output.status.code()
    };
    assert_eq!(part(&[], "10.0.0.100"), Some(1), "of another");
    host.program("ip", "[[ $* != *10.0.0.100* ]] || echo it has that");
    assert_eq!(part(&[], "10.0.0.100"), Some(0), "its own");
    let peers = ["10.0.0.2".to_owned()];
    assert_eq!(part(&peers, "10.0.0.2 10.0.0.100"), Some(1));
}

/// A machine that is too busy to ask would give the address away, and so would all others.
#[test]
fn a_check_that_is_ended_takes_no_part_away() {
    use std::os::unix::process::CommandExt as _;
    let host = Host::new();
    host.file("etc/kubernetes/pki/ca.crt", "a certificate");
    host.program("curl", "touch \"$0.began\"; exec sleep 60");
    let root = host.0.path().to_str().unwrap();
    let check = check(&["10.0.0.2".to_owned()]).replace("/etc/", &format!("{root}/etc/"));
    let mut child = Command::new("bash")
        .args(["-c", &check, "check", "part"])
        .env(
            "PATH",
            format!("{root}/bin:{}", std::env::var("PATH").unwrap()),
        )
        .process_group(0)
        .spawn()
        .unwrap();
    while !host.0.path().join("bin/curl.began").exists() {
        std::thread::yield_now();
    }
    // as keepalived does
    let group = format!("-{}", child.id());
    let ended = Command::new("kill").args(["-TERM", "--", &group]).status();
    assert!(ended.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn before_there_is_a_ca_nobody_is_believed_and_the_address_is_held() {
    let host = Host::new();
    let check = check(&["10.0.0.2".to_owned()]);
    let everybody = "127.0.0.1 10.0.0.2 10.0.0.100";
    assert_eq!(host.run(&check, &[], everybody).status.code(), Some(1));
    assert_eq!(
        host.run(&check, &["part"], everybody).status.code(),
        Some(0)
    );
}

/// Who gives the address away for a while has less priority, and keeps it where no other takes it.
#[test]
fn a_machine_that_stands_back_keeps_its_part() {
    let unit = give_address().render().unwrap();
    let (functions, _) = unit.steps[0]
        .script
        .split_once("\ngive_address ||")
        .unwrap();
    let host = Host::new();
    host.file("etc/kubernetes/pki/ca.crt", "a certificate");
    let peers = ["10.0.0.2".to_owned()];
    let root = host.0.path().to_str().unwrap().to_owned();
    let rooted = check(&peers)
        .replace("/etc/", &format!("{root}/etc/"))
        .replace("/run/", &format!("{root}/run/"));
    host.file("etc/keepalived/tatara-check-api", &rooted);
    host.file("run/x", "");
    let answers = "127.0.0.1 10.0.0.2";
    let ends = |arguments: &[&str]| {
        let check =
            std::fs::read_to_string(host.0.path().join("etc/keepalived/tatara-check-api")).unwrap();
        // its paths are those of this host already
        let check = check.replace(&root, "");
        host.run(&check, arguments, answers).status.code()
    };
    assert_eq!((ends(&[]), ends(&["part"])), (Some(0), Some(0)));
    let output = host.run(&format!("{functions}\nstand_back"), &[], answers);
    assert!(output.status.success(), "{output:?}");
    assert_eq!((ends(&[]), ends(&["part"])), (Some(1), Some(0)));
    let output = host.run(&format!("{functions}\nstand_up\napi_port"), &[], answers);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "6443\n");
    assert_eq!((ends(&[]), ends(&["part"])), (Some(0), Some(0)));
    // as Tatara wrote it before
    host.file(
        "etc/keepalived/tatara-check-api",
        "#!/bin/bash\ncode=$(curl --silent https://127.0.0.1:7443/livez)\n",
    );
    let output = host.run(&format!("{functions}\napi_port"), &[], answers);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "7443\n");
}

/// The controller manager and the scheduler make their certificates themselves.
#[test]
fn nothing_is_asked_unverified_but_two_components_of_the_host_itself() {
    for unit in units() {
        for step in &unit.steps {
            let lines = step.script.lines().filter(|l| l.contains("--insecure"));
            for line in lines {
                assert!(line.contains("/healthz"), "{line}");
                assert_eq!((step.name, unit.kind), ("kubelet", JobKind::Kubelet));
                let asked = "all_answer() { api_answers && answers kube-controller-manager 10257 && answers kube-scheduler 10259; }";
                assert!(step.script.contains(asked));
                assert_eq!(step.script.matches("answers kube-").count(), 2);
            }
        }
    }
}
