//! What is sent, and how what comes back is judged.

use bytes::Bytes;

use super::*;

fn data(text: &str) -> ChannelMsg {
    ChannelMsg::Data {
        data: Bytes::copy_from_slice(text.as_bytes()),
    }
}

fn stderr(text: &str) -> ChannelMsg {
    ChannelMsg::ExtendedData {
        data: Bytes::copy_from_slice(text.as_bytes()),
        ext: 1,
    }
}

fn exit(exit_status: u32) -> ChannelMsg {
    ChannelMsg::ExitStatus { exit_status }
}

fn judge(messages: Vec<ChannelMsg>) -> (Outcome, Vec<String>) {
    let mut lines = Vec::new();
    let mut transcript = Transcript::new(|line: &str| lines.push(line.to_string()));
    for message in messages {
        if !transcript.take(message) {
            break;
        }
    }
    let outcome = transcript.finish();
    (outcome, lines)
}

fn done(messages: Vec<ChannelMsg>) -> (Output, Vec<String>) {
    match judge(messages) {
        (Outcome::Done(output), lines) => (output, lines),
        (other, _) => panic!("{other:?}"),
    }
}

#[test]
fn output_follows_the_greeting_and_comes_as_lines() {
    let messages = vec![
        data("tatara-shell uid=0\none\ntw"),
        data("o\nthree"),
        stderr("hm"),
        ChannelMsg::Eof,
        exit(3),
        ChannelMsg::Close,
    ];
    let (output, lines) = done(messages);
    assert_eq!(output.code, Some(3));
    assert!(!output.success());
    assert_eq!(output.stdout, b"one\ntwo\nthree");
    assert_eq!(output.stderr, b"hm");
    assert_eq!(lines, ["one", "two", "three"]);
}

#[test]
fn what_login_scripts_print_is_dropped_even_without_line_end_and_in_pieces() {
    let messages = vec![
        data("Welcome! tatara-sh"),
        data("ell uid"),
        data("=0"),
        data("\nyes\n"),
    ];
    let (output, lines) = done(
        messages
            .into_iter()
            .chain([exit(0), ChannelMsg::Close])
            .collect(),
    );
    assert_eq!(output.stdout, b"yes\n");
    assert_eq!(lines, ["yes"]);
}

#[test]
fn endless_noise_before_the_greeting_is_not_kept() {
    let mut transcript = Transcript::new(|_: &str| {});
    for _ in 0..100 {
        transcript.take(data(&"noise ".repeat(1000)));
    }
    assert!(transcript.noise.len() <= 2 * NOISE_LIMIT);
    transcript.take(data("tatara-shell uid=0\n"));
    assert_eq!(transcript.uid.as_deref(), Some("0"));
}

#[test]
fn an_end_before_the_greeting_is_no_shell_and_says_why() {
    let said = |messages| match judge(messages).0 {
        Outcome::NoShell(said) => said,
        other => panic!("{other:?}"),
    };
    let sudo = vec![
        stderr("noise of .bashrc\nsudo: a password is required\n\n"),
        exit(1),
        ChannelMsg::Close,
    ];
    assert_eq!(said(sudo), "sudo: a password is required");
    let nologin = vec![
        data("This account is not available.\n"),
        exit(1),
        ChannelMsg::Close,
    ];
    assert_eq!(said(nologin), "This account is not available.");
    assert_eq!(said(vec![exit(127), ChannelMsg::Close]), "exit code 127");
    assert!(said(vec![ChannelMsg::Failure]).contains("does not run commands"));
}

#[test]
fn another_uid_is_not_root() {
    let messages = vec![
        data("tatara-shell uid=1000\n"),
        exit(126),
        ChannelMsg::Close,
    ];
    assert_eq!(judge(messages).0, Outcome::NotRoot("1000".into()));
}

#[test]
fn an_end_that_was_not_seen_is_lost() {
    let greeting = || data("tatara-shell uid=0\n");
    assert_eq!(judge(vec![]).0, Outcome::Lost);
    assert_eq!(judge(vec![greeting()]).0, Outcome::Lost);
    // The exit code came, but not all of the output.
    assert_eq!(judge(vec![greeting(), exit(0)]).0, Outcome::Lost);
    // All of the output came, but no exit code.
    assert_eq!(
        judge(vec![greeting(), ChannelMsg::Eof, ChannelMsg::Close]).0,
        Outcome::Lost
    );
    assert!(matches!(
        judge(vec![greeting(), exit(0), ChannelMsg::Eof]).0,
        Outcome::Done(_)
    ));
}

#[test]
fn a_signal_is_not_an_exit_code() {
    let signal = ChannelMsg::ExitSignal {
        signal_name: russh::Sig::KILL,
        core_dumped: false,
        error_message: String::new(),
        lang_tag: String::new(),
    };
    let (output, _) = done(vec![
        data("tatara-shell uid=0\n"),
        signal,
        ChannelMsg::Close,
    ]);
    assert_eq!(
        (output.code, output.signal.as_deref()),
        (None, Some("KILL"))
    );
}

#[test]
fn output_and_lines_are_bounded() {
    let mut messages = vec![data("tatara-shell uid=0\n")];
    messages.extend((0..5).map(|_| data(&"x".repeat(1 << 20))));
    let (output, lines) = done(
        messages
            .into_iter()
            .chain([exit(0), ChannelMsg::Close])
            .collect(),
    );
    assert_eq!(output.stdout.len(), OUTPUT_LIMIT);
    assert!(output.truncated);
    assert!(lines.iter().all(|line| line.len() <= LINE_LIMIT));
    assert_eq!(lines.iter().map(String::len).sum::<usize>(), 5 << 20);
}

#[test]
fn debug_shows_sizes_and_no_output() {
    let output = Output {
        code: Some(0),
        stdout: b"hunter2".to_vec(),
        ..Output::default()
    };
    let shown = format!("{output:?}");
    assert!(
        shown.contains("stdout_bytes: 7") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[test]
fn the_script_is_no_part_of_the_command() {
    assert_eq!(shell(Privilege::Root), "/bin/bash --norc --noprofile -s");
    assert_eq!(
        shell(Privilege::Sudo),
        "sudo -n -- /bin/bash --norc --noprofile -s"
    );
    assert!(envelope("echo hi").ends_with("\necho hi\n# tatara: end of script\n"));
}

#[test]
fn the_greeting_is_found_in_any_pieces_and_after_one_that_does_not_end() {
    let text = format!(
        "motd {GREETING}{}{GREETING}0\nout",
        "7".repeat(UID_LIMIT + 1)
    );
    for size in 1..text.len() {
        let pieces = text.as_bytes().chunks(size);
        let pieces = pieces.map(|piece| data(std::str::from_utf8(piece).unwrap()));
        let (output, _) = done(pieces.chain([ChannelMsg::Eof, exit(0)]).collect());
        assert_eq!(output.stdout, b"out", "in pieces of {size}");
    }
}

#[test]
fn each_byte_before_the_greeting_is_searched_once() {
    let mut transcript = Transcript::new(|_: &str| {});
    for _ in 0..400_000 {
        transcript.take(data("t"));
        // no more is searched again than may be the beginning of a greeting
        assert!(transcript.noise.len() - transcript.searched < GREETING.len());
    }
    transcript.take(data("\ntatara-shell uid=0\n"));
    assert_eq!(transcript.uid.as_deref(), Some("0"));
}
