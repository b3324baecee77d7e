use std::os::unix::fs::PermissionsExt;

use super::*;

const LONG: &str = "0123456789abcdef0123";

fn file(folder: &Path, text: &str, mode: u32) -> PathBuf {
    let path = folder.join("tokens");
    fs::write(&path, text).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    path
}

fn at(time: &str) -> Timestamp {
    time.parse().expect("a time")
}

#[test]
fn a_token_is_good_until_its_time_and_expired_after_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("# ours\n\n{LONG} 2030-01-01T00:00:00Z\n");
    let tokens = Tokens::open(file(folder.path(), &text, 0o600)).expect("tokens");
    let (before, after) = (at("2029-12-31T23:59:59Z"), at("2030-01-01T00:00:00Z"));
    assert_eq!(tokens.check(LONG.as_bytes(), before), Verdict::Good);
    assert_eq!(tokens.check(LONG.as_bytes(), after), Verdict::Expired);
    assert_eq!(tokens.check(b"another", before), Verdict::Unknown);
    assert_eq!(tokens.check(b"", before), Verdict::Unknown);
}

#[test]
fn a_file_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for mode in [0o640, 0o604, 0o660] {
        let error = Tokens::open(file(folder.path(), LONG, mode))
            .err()
            .expect("an error");
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }
}

#[test]
fn what_is_wrong_with_a_line_is_said_without_its_token() {
    for (text, line) in [("short", 1), ("#\n0123456789abcdef0123 tomorrow", 2)] {
        let (number, problem) = parse(text).expect_err("a problem");
        assert_eq!(number, line);
        assert!(!problem.contains("0123456789abcdef0123"));
    }
    assert!(parse(&format!("{LONG} 2030-01-01T00:00:00Z more")).is_err());
    assert!(parse(&format!("{LONG}\u{e9}")).is_err());
}

#[test]
fn a_file_that_changes_is_read_again_and_one_that_opens_up_lets_nobody_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = file(folder.path(), LONG, 0o600);
    let tokens = Tokens::open(path.clone()).expect("tokens");
    let now = at("2029-12-31T23:59:59Z");
    let other = "fedcba9876543210fedcba";
    file(folder.path(), other, 0o600);
    assert_eq!(tokens.check(other.as_bytes(), now), Verdict::Good);
    assert_eq!(tokens.check(LONG.as_bytes(), now), Verdict::Unknown);
    file(folder.path(), &format!("{other}\n"), 0o644);
    assert_eq!(tokens.check(other.as_bytes(), now), Verdict::Unknown);
    fs::remove_file(&path).expect("removed");
    assert_eq!(tokens.check(other.as_bytes(), now), Verdict::Unknown);
}
