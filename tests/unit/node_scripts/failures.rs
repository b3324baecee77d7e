//! What is said of a step that failed, and what stays of it: the scripts that start and follow a unit, in a namespace of
//! their own with the folders of a host.

use std::process::{Output, Stdio};

use tatara_core::node::{Event, Failure, Script, Step, UnitState, UnitStatus, parse_event};

use super::*;

/// Folders and programs of a host: systemd runs at once what it is to start, and never says that anything is alive.
const HOST: &str = r#"set -e
mount --bind "$ROOT/lib" /var/lib
mount --bind "$ROOT/run" /run
mount --bind "$ROOT/bin" /usr/local/bin
if [[ -e $ROOT/small ]]; then
  mount -t tmpfs -o size=600k tmpfs /var/lib
  cp -r "$ROOT/lib/tatara" /var/lib/
fi
exec bash -s
"#;

struct Host {
    root: tempfile::TempDir,
}

impl Host {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["lib/tatara/machines", "run", "bin"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let host = Self { root };
        host.program("systemctl", "echo inactive; exit 3");
        host.program("systemd-notify", ":");
        host.program("systemd-run", "bash \"${!#}\" || true");
        let owner = r#"{"management":"m","uid":"u"}"#;
        std::fs::write(host.path("lib/tatara/owner.json"), owner).unwrap();
        host
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path("bin").join(name);
        std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn run(&self, script: &Script) -> String {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "bash", "-c", HOST])
            .env("ROOT", self.root.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, script.as_str().as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let (stdout, stderr) = both(&output);
        assert!(output.status.success(), "{stdout}{stderr}");
        stdout
    }

    /// Runs a unit, and says how it ended.
    fn attempt(&self, unit: &Unit) -> UnitStatus {
        ended(&self.run(&start_and_follow(&marker(), unit, EPOCH, tatara::clock::now()).unwrap()))
    }

    /// How the unit is, as after a restart of the manager.
    fn look(&self) -> UnitStatus {
        ended(&self.run(&follow(&marker().job(JobKind::Prepare)).unwrap()))
    }

    fn logs(&self) -> String {
        self.run(&log("u", None).unwrap())
    }
}

fn marker() -> Marker {
    Marker {
        management: "m".into(),
        uid: "u".into(),
        ..Marker::default()
    }
}

fn both(output: &Output) -> (String, String) {
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (lossy(&output.stdout), lossy(&output.stderr))
}

fn ended(printed: &str) -> UnitStatus {
    match parse_event(printed.lines().last().unwrap()).unwrap() {
        Event::Ended(status) => status,
        other => panic!("{other:?}"),
    }
}

fn failure(status: &UnitStatus) -> &Failure {
    status.failure().unwrap_or_else(|| panic!("{status:?}"))
}

fn unit(steps: &[(&'static str, &str)]) -> Unit {
    let step = |(name, script): &(&'static str, &str)| Step {
        name,
        title: "A step",
        script: (*script).into(),
    };
    Unit {
        kind: JobKind::Prepare,
        steps: steps.iter().map(step).collect(),
        secrets: Vec::new(),
    }
}

const FAILS: &str = r"
[[ ! -e /run/mended ]] || { echo mended; exit 0; }
printf '\033[0;37mOS\033[0m: \033[0;32mLinux\033[0m\n\033[0;37mCONFIG_NET\033[0m: \033[0;32menabled\033[0m\n'
printf '\t[WARNING Swap]: swap\n\033[31mport 1 is busy\033[0m\ndo: in the middle\nit stopped\n'
printf 'why: port 1 is in use by x\ndo: stop x\n'
exit 3
";

#[test]
fn a_failure_stays_with_its_number_and_time_until_its_step_succeeds() {
    let host = Host::new();
    let work = unit(&[
        ("one", "echo first"),
        ("two", FAILS),
        ("three", "echo last"),
    ]);
    let first = failure(&host.attempt(&work)).clone();
    assert_eq!((first.attempt, first.exit_code), (1, 3));
    assert_eq!(first.causes, ["why: port 1 is in use by x", "do: stop x"]);
    assert_eq!(
        first.output,
        "port 1 is busy\ndo: in the middle\nit stopped"
    );
    let since = first.since.unwrap();
    assert!((tatara::clock::now().as_millisecond() - since).abs() < 60_000);
    assert!(
        !host.logs().contains("attempt"),
        "it is the log of the step"
    );

    let second = host.attempt(&work);
    assert_eq!(failure(&second).attempt, 2);
    assert_eq!(failure(&second).since, Some(since));
    assert_eq!(host.look(), second);
    let message = failure(&second).message();
    let wanted =
        "port 1 is in use by x. Stop x. 2/3 two failed with exit code 3 (attempt 2, failing since ";
    assert!(message.starts_with(wanted), "{message}");

    // as while the third attempt is under way, and cut off
    let dir = host.path("lib/tatara/machines/u/prepare");
    for file in ["01-one.rc", "02-two.rc", "02-two.log"] {
        std::fs::remove_file(dir.join(file)).unwrap();
    }
    let under_way = host.look();
    assert!(matches!(&under_way.state, UnitState::Interrupted(at) if at.step == "one"));
    assert_eq!(failure(&under_way), failure(&second));
    let logs = host.logs();
    assert!(
        logs.contains("==> prepare: two (attempt 2, failed 2"),
        "{logs}"
    );
    assert!(logs.contains("port 1 is in use by x"), "{logs}");

    std::fs::write(host.path("run/mended"), "").unwrap();
    let done = host.attempt(&work);
    assert_eq!((&done.state, done.failure()), (&UnitState::Succeeded, None));
    let (before, after) = {
        let logs = host.logs();
        let (before, after) = logs.split_once("==> prepare: two (exit code 0)\n").unwrap();
        (before.to_owned(), after.to_owned())
    };
    assert!(before.contains("(attempt 2, failed 2"), "{before}");
    assert!(after.starts_with("mended\n"), "{after}");

    // it begins anew
    std::fs::remove_file(host.path("run/mended")).unwrap();
    let again = host.attempt(&unit(&[("two", FAILS)]));
    assert_eq!(failure(&again).attempt, 1);
    // and is over where the unit has no such step any more
    let other = host.attempt(&unit(&[("other", "true")]));
    assert_eq!(other.failure(), None);
    assert!(!dir.join("failing").exists());
}

#[test]
fn a_step_that_leaves_no_room_says_how_it_ended_and_why() {
    let host = Host::new();
    std::fs::write(host.path("small"), "").unwrap();
    let work = unit(&[("fill", "cat /dev/zero >/var/lib/filler; echo lost; exit 1")]);
    let ended = host.attempt(&work);
    let failure = failure(&ended);
    assert_eq!((failure.exit_code, failure.attempt), (1, 1));
    let message = failure.message();
    assert!(message.starts_with("/var/lib on "), "{message}");
    let says = " is full (0 of 0 MB free). Free space there; it is tried again. 1/1 fill failed";
    assert!(message.contains(says), "{message}");
}

#[test]
fn another_step_that_fails_has_a_number_of_its_own() {
    let host = Host::new();
    let fails = |what: &str| format!("[[ -e /run/{what} ]] || exit 1");
    let (one, two) = (fails("one"), fails("two"));
    let work = unit(&[("one", &one), ("two", &two)]);
    let at = |status: &UnitStatus| {
        let failure = failure(status);
        (failure.at.step.clone(), failure.attempt)
    };
    host.attempt(&work);
    assert_eq!(at(&host.attempt(&work)), ("one".to_owned(), 2));
    std::fs::write(host.path("run/one"), "").unwrap();
    assert_eq!(at(&host.attempt(&work)), ("two".to_owned(), 1));
    let kept = std::fs::read_dir(host.path("lib/tatara/machines/u/prepare")).unwrap();
    let kept = kept.filter(|file| {
        let name = file.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("failed-")
    });
    assert_eq!(kept.count(), 2, "one log of each step that failed");
}

/// Runs a step with these programs, and returns its last lines.
fn causes(script: &str, programs: &[(&str, &str)]) -> String {
    let host = Host::new();
    let path = host.path("run/step.sh");
    std::fs::write(&path, script).unwrap();
    for (name, text) in programs {
        host.program(name, text);
    }
    let run = "PATH=$BIN:$PATH bash \"$0\" >\"${0%.sh}.log\" 2>&1";
    let output = Command::new("bash")
        .args(["-c", run, path.to_str().unwrap()])
        .env("BIN", host.path("bin"))
        .env("TATARA_UNIT", host.path("lib/tatara/machines"))
        .env("TATARA_SECRETS", host.path("run"))
        .output()
        .unwrap();
    let said = std::fs::read_to_string(host.path("run/step.log")).unwrap();
    assert!(!output.status.success(), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let is_cause = |line: &&str| line.starts_with("why: ") || line.starts_with("do: ");
    let count = lines.iter().rev().take_while(|line| is_cause(line)).count();
    lines[lines.len() - count..].join("\n")
}

fn step_of(unit: &Unit, name: &str) -> String {
    let step = unit.steps.iter().find(|step| step.name == name);
    step.unwrap().script.clone()
}

#[test]
fn what_kubeadm_says_is_explained_where_its_cause_is_known() {
    let kubeadm = |name: &str, says: &str| {
        let unit = match name {
            "init" => init(bootstrap(&[])),
            _ => join(bootstrap(&[])),
        };
        let says = format!(
            "cat >&2 <<'E'\n{says}\nTo see the stack trace of this error execute with --v=5 or higher\nE\nexit 1"
        );
        causes(
            &step_of(&unit.render().unwrap(), name),
            &[("kubeadm", &says)],
        )
    };
    for (name, says, wanted) in [
        (
            "init",
            "error: featureGates: Invalid value: {\"Nonsense\":true}: Nonsense is not a valid feature name.",
            &[
                "Nonsense is not a valid feature name",
                "kubeadm.clusterConfiguration",
            ][..],
        ),
        (
            "join",
            "error: strict decoding error: unknown field \"nodeX\"",
            &["nodeX", "kubeadm.joinConfiguration"],
        ),
        (
            "init",
            "error execution phase wait-control-plane: failed while waiting for the control plane to start: [kube-apiserver check failed at https://10.0.0.1:6443/livez]",
            &[
                "does not become healthy: [kube-apiserver check failed",
                "do: Check on",
            ],
        ),
        (
            "init",
            "error: error execution phase preflight: [preflight] Some fatal errors occurred:\n\t[ERROR Port-10259]: Port 10259 is in use\n\t[ERROR Swap]: running with swap on is not supported\n[preflight] If you know what you are doing",
            &[
                "Port 10259 is in use; running with swap on",
                "do: Fix that on",
            ],
        ),
        (
            "join",
            "error: error execution phase preflight: couldn't validate the identity of the API Server: could not find a JWS signature in the cluster-info ConfigMap for token ID \"abcdef\"",
            &[
                "does not accept the bootstrap token",
                "do: The next attempt has a new token",
            ],
        ),
        (
            "join",
            "error: error execution phase kubelet-wait-bootstrap: failed while waiting for TLS bootstrap: context deadline exceeded",
            &["no certificate in time", "journalctl -u kubelet"],
        ),
        (
            "join",
            "error: error execution phase kubelet-start: a Node with name \"w\" and status \"Ready\" already exists in the cluster. You must delete the existing Node or change the name of this new joining Node",
            &["why: a Node with name", "admin.conf delete node w"],
        ),
    ] {
        let found = causes_of(&kubeadm(name, says), says);
        for part in wanted {
            assert!(found.contains(part), "{says}: {found}");
        }
    }
    let unknown = "error: error execution phase upload-certs: a thing that no one has seen";
    assert_eq!(kubeadm("init", unknown), "");
}

/// One line of each.
fn causes_of(found: &str, case: &str) -> String {
    assert_eq!(found.lines().count(), 2, "{case}: {found}");
    found.to_owned()
}

#[test]
fn a_download_says_what_answers_there() {
    let unit = prepared(Role::Worker, &settings(SoftwareSource::Mirror, true), false);
    let images = step_of(&unit, "images");
    for (curl, why) in [
        ("printf 404; exit 22", "why: http://x/y answers 404"),
        (
            "printf 403; exit 22",
            "why: http://x/y answers 403: access is refused",
        ),
        (
            "printf 000; exit 7",
            "why: curl gets no HTTP answer from http://x/y (curl exit code 7)",
        ),
        (
            "printf 200; exit 23",
            "why: the download of http://x/y broke off, with ",
        ),
        (
            "while (($#)); do [[ $1 != -o ]] || echo x >\"$2\"; shift; done; printf 200",
            "why: http://x/y does not have the checksum given in software.imageArchives",
        ),
    ] {
        let said = causes(&images, &[("curl", curl)]);
        let said = causes_of(&said, curl);
        assert!(said.starts_with(why), "{curl}: {said}");
    }
}

#[test]
fn packages_are_not_begun_without_room_for_them() {
    let unit = prepared(Role::Worker, &settings(SoftwareSource::Mirror, true), false);
    let images = step_of(&unit, "images");
    let (functions, _) = images.split_once("\nhas curl").unwrap();
    let script = format!("{functions}\nupdated=yes\ninstall_packages kubelet\n");
    let apt = |needs: &str| {
        format!(
            "[[ \" $* \" == *--assume-no* ]] || {{ echo 'E: Unable to locate package'; exit 100; }}\necho '{needs}'"
        )
    };
    let run = |needs: &str| causes(&script, &[("apt-get", &apt(needs)), ("dpkg", ":")]);
    let much = run(
        "Need to get 1,052.3 MB/2,060 MB of archives.\nAfter this operation, 999,999 GB of additional disk space will be used.",
    );
    assert!(much.contains("and installing kubelet needs "), "{much}");
    let other = run(
        "Need to get 0 B/12.5 kB of archives.\nAfter this operation, 3 kB disk space will be freed.",
    );
    assert!(
        other.contains("installing kubelet failed on ")
            && other.contains(": Unable to locate package"),
        "{other}"
    );
}
