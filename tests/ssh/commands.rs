//! Scripts: what they get, what comes back, what becomes of them.

use tatara::remote::Pool;

use crate::sshd::Sshd;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs sshd, run by make test"]
async fn a_script_runs_as_root_and_gives_code_and_output() {
    let sshd = Sshd::new();
    let pool = Pool::new();
    let session = pool.session(&sshd.target()).await.unwrap();
    let output = session.run("id -u\necho oops >&2\nexit 7").await.unwrap();
    assert_eq!(output.code, Some(7));
    assert_eq!(output.stdout, b"0\n");
    assert_eq!(output.stderr, b"oops\n");
    assert!(!output.truncated);
}
