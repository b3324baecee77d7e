//! Scripts: what they get, what comes back, what becomes of them.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;
use tatara_core::api::conditions::Reason;

use futures::future::join_all;
use sha2::Digest as _;
use tatara::remote::{Pool, RunError, Session};

use crate::ssh::sshd::{Setup, Sshd, kill};

async fn session(sshd: &Sshd) -> Arc<Session> {
    Pool::new().session(&sshd.target()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_script_runs_as_root_and_gives_code_and_output() {
    let sshd = Sshd::new();
    let session = session(&sshd).await;
    let output = session.run("id -u\necho oops >&2\nexit 7").await.unwrap();
    assert_eq!(output.code, Some(7));
    assert_eq!(output.stdout, b"0\n");
    assert_eq!(output.stderr, b"oops\n");
    assert!(!output.truncated);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_script_ended_by_a_signal_has_no_exit_code() {
    let sshd = Sshd::new();
    let output = session(&sshd).await.run("kill -KILL $$").await.unwrap();
    assert_eq!(
        (output.code, output.signal.as_deref()),
        (None, Some("KILL"))
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_script_is_bash_with_quotes_heredocs_errexit_and_no_input() {
    let sshd = Sshd::new();
    let script = r#"
        set -euo pipefail
        cat                                  # would eat the rest of the script from its stdin
        cat <<'EOF'
'single' "double" $not $(expanded) \ ü
EOF
        words=(a "b c")
        printf '%s|' "${words[@]}"
        trap 'echo bye' EXIT
        false
        echo unreachable"#;
    let output = session(&sshd).await.run(script).await.unwrap();
    assert_eq!(output.code, Some(1));
    let expected = "'single' \"double\" $not $(expanded) \\ ü\na|b c|bye\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_script_appears_on_no_command_line_and_in_no_environment() {
    let sshd = Sshd::new();
    // The searched word is put together in the script, and passed by a file: no search finds itself.
    let script = "word=hunter2; word=$word-in-the-script
        : hunter2-in-the-script
        pattern=$(mktemp); echo \"$word\" > \"$pattern\"
        ps -eo args | grep -c -F -f \"$pattern\"
        cat /proc/self/environ | tr '\\0' '\\n' | grep -c -F -f \"$pattern\"
        cat /proc/$$/environ | tr '\\0' '\\n' | grep -c -F -f \"$pattern\"
        rm \"$pattern\"
        ps -p $$ -o args=";
    let output = session(&sshd).await.run(script).await.unwrap();
    let expected = "0\n0\n0\n/bin/bash --norc --noprofile -s\n";
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn fifty_scripts_at_once_share_one_connection() {
    let sshd = Sshd::new();
    let session = session(&sshd).await;
    let runs = (0..50).map(|n| {
        let session = Arc::clone(&session);
        async move { session.run(&format!("echo {n}; exit {n}")).await }
    });
    for (n, output) in join_all(runs).await.into_iter().enumerate() {
        let output = output.unwrap();
        assert_eq!(output.stdout, format!("{n}\n").into_bytes());
        assert_eq!(output.code, Some(u32::try_from(n).unwrap()));
    }
    assert_eq!(sshd.logged("Accepted publickey"), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_server_with_fewer_sessions_is_respected() {
    let sshd = Sshd::with(&Setup {
        config: "MaxSessions 2",
        ..Setup::default()
    });
    let session = session(&sshd).await;
    let runs = (0..30).map(|_| session.run("echo x"));
    for output in join_all(runs).await {
        assert_eq!(output.unwrap().stdout, b"x\n");
    }
    assert!(!session.is_closed());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_server_that_opens_no_session_says_so_and_the_connection_is_given_up() {
    let sshd = Sshd::with(&Setup {
        config: "MaxSessions 0",
        ..Setup::default()
    });
    let session = session(&sshd).await;
    let error = session.run("true").await.unwrap_err();
    assert!(
        matches!(error, RunError::CommandRefused { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("MaxSessions"), "{error}");
    assert!(session.is_closed());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn large_output_is_whole_up_to_the_limit_and_says_where_it_is_not() {
    let sshd = Sshd::new();
    let session = session(&sshd).await;
    let output = session
        .run("head -c 4194304 /dev/zero | tr '\\0' x")
        .await
        .unwrap();
    assert_eq!((output.stdout.len(), output.truncated), (4 << 20, false));
    let script = "head -c 20000000 /dev/zero; head -c 9000000 /dev/zero >&2; exit 3";
    let output = session.run(script).await.unwrap();
    assert_eq!(
        (output.stdout.len(), output.stderr.len()),
        (4 << 20, 4 << 20)
    );
    assert!(output.truncated);
    assert_eq!(output.code, Some(3));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_large_script_arrives_whole_while_output_flows() {
    let sshd = Sshd::new();
    let line = "y".repeat(1023);
    let body = format!("{line}\n").repeat(3 * 1024);
    let script = format!("seq 200000\ncat <<'EOF' | sha256sum\n{body}EOF\n");
    let output = session(&sshd).await.run(&script).await.unwrap();
    let digest = sha2::Sha256::digest(&body);
    let hex = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let expected: String = hex
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.lines().count(), 200_001);
    assert_eq!(stdout.lines().last().unwrap(), format!("{expected}  -"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn lines_are_handed_out_while_the_script_runs() {
    let sshd = Sshd::new();
    let session = session(&sshd).await;
    let fifo = sshd.dir().join("fifo");
    let script = format!(
        "mkfifo {0}; echo one; cat {0}; echo -n three",
        fifo.display()
    );
    let (sender, lines) = channel();
    let answer = std::thread::spawn(move || {
        let first = lines.recv_timeout(Duration::from_secs(20)).unwrap();
        // The script goes on only because its first line has been seen.
        std::fs::write(fifo, "two\n").unwrap();
        std::iter::once(first)
            .chain(lines.iter())
            .collect::<Vec<String>>()
    });
    let output = session
        .follow(&script, move |line| sender.send(line.to_string()).unwrap())
        .await;
    assert_eq!(output.unwrap().stdout, b"one\ntwo\nthree");
    assert_eq!(answer.join().unwrap(), ["one", "two", "three"]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn scripts_whose_callers_went_away_hold_up_nobody() {
    let sshd = Sshd::new();
    let pool = Pool::new();
    let mut pids = Vec::new();
    // More than the server allows at a time on one connection.
    for _ in 0..23 {
        let session = pool.session(&sshd.target()).await.unwrap();
        let (sender, mut pid) = tokio::sync::mpsc::unbounded_channel();
        let follower = session.follow("echo $$; exec sleep 1000", move |line| {
            sender.send(line.parse().unwrap()).unwrap();
        });
        pids.push(tokio::select! {
            result = follower => panic!("it sleeps: {result:?}"),
            pid = pid.recv() => pid.unwrap(),
        });
        assert!(session.run("true").await.unwrap().success());
    }
    pids.into_iter().for_each(kill);
    assert!(sshd.logged("Accepted publickey") <= 5);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn output_of_login_scripts_is_not_the_scripts() {
    let config = "ForceCommand echo -n 'Welcome to this host'; exec $SSH_ORIGINAL_COMMAND";
    let sshd = Sshd::with(&Setup {
        config,
        ..Setup::default()
    });
    assert_eq!(
        session(&sshd).await.run("echo mine").await.unwrap().stdout,
        b"mine\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_script_that_hangs_is_told_from_a_connection_that_is_lost_and_costs_no_other_script() {
    let sshd = Sshd::new();
    let session = session(&sshd).await;
    let limit = Duration::from_secs(2);
    let hangs = session.run_within("sleep 60", limit).await.unwrap_err();
    assert_eq!(hangs.reason(), Reason::HostHangs);
    assert!(hangs.to_string().contains("within 2 s"), "{hangs}");
    let next = session.run_within("echo x", Duration::from_mins(1)).await;
    assert_eq!(next.unwrap().stdout, b"x\n");
    assert!(!session.is_closed());
    assert_eq!(sshd.logged("Accepted publickey"), 1);

    sshd.stop_answering();
    let lost = session.run_within("echo x", limit).await.unwrap_err();
    assert_eq!(lost.reason(), Reason::SshDisconnected);
    assert!(session.is_closed(), "the next caller gets another");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_script_that_waits_for_our_own_is_no_sign_of_a_host_that_hangs() {
    let sshd = Sshd::with(&Setup {
        config: "MaxSessions 1",
        ..Setup::default()
    });
    let session = session(&sshd).await;
    let follow = session.follow("echo on; sleep 8", |_| {});
    let beside = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let limit = Duration::from_secs(3);
        session.run_within("echo x", limit).await.unwrap_err()
    };
    let (followed, beside) = futures::future::join(follow, beside).await;
    assert_eq!(beside.reason(), Reason::SshBusy);
    assert!(followed.unwrap().success());
}
