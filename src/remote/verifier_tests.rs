//! What a server gets that opens channels itself.

use super::super::connect;
use super::super::sshd::Sshd;

#[tokio::test]
async fn a_channel_that_the_server_opens_is_refused_whatever_its_kind() {
    let sshd = Sshd::closed().await;
    sshd.open();
    let session = connect::connect(&sshd.hop(), false, None).await.unwrap();
    let handle = sshd.handle().await;
    for _ in 0..10 {
        let opened = [
            handle.channel_open_session().await,
            handle.channel_open_direct_tcpip("a", 1, "b", 2).await,
            handle.channel_open_direct_streamlocal("/a").await,
            handle.channel_open_forwarded_tcpip("a", 1, "b", 2).await,
            handle.channel_open_forwarded_streamlocal("/a").await,
            handle.channel_open_agent().await,
            handle.channel_open_x11("a", 1).await,
        ];
        let is_refused = opened.each_ref().map(|opened| {
            let refused = opened.as_ref().err();
            refused.is_some_and(|refused| {
                matches!(
                    refused,
                    russh::Error::ChannelOpenFailure(
                        russh::ChannelOpenFailure::AdministrativelyProhibited
                    )
                )
            })
        });
        assert_eq!(is_refused, [true; 7]);
    }
    // the connection serves what we ask of it
    assert!(!session.handle.is_closed());
}
