//! What a server gets that opens channels itself.

use russh::keys::PrivateKey;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{Ed25519Keypair, KeypairData};
use russh::server::{self, Auth, VerifiedPublicKey};
use tokio::net::TcpListener;

use super::super::{Credential, Hop, connect};

struct Server;

impl server::Handler for Server {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        _: &str,
        _: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        Ok(Auth::Accept)
    }
}

#[tokio::test]
async fn a_channel_that_the_server_opens_is_refused_whatever_its_kind() {
    let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[7; 32]));
    let key = PrivateKey::new(pair, "").unwrap();
    let config = server::Config {
        keys: vec![key.clone()],
        ..server::Config::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let pem = key.to_openssh(LineEnding::LF).unwrap();
    let hop = Hop {
        address: "127.0.0.1".into(),
        port: listener.local_addr().unwrap().port(),
        user: "root".into(),
        host_keys: vec![key.public_key().to_openssh().unwrap()],
        credential: Credential::parse(pem.as_bytes(), None).unwrap().into(),
    };
    let serve = async {
        let (stream, _) = listener.accept().await.unwrap();
        let running = server::run_stream(config.into(), stream, Server).await;
        running.unwrap()
    };
    let (running, connected) = tokio::join!(serve, connect::connect(&hop, false, None));
    let (handle, session) = (running.handle(), connected.unwrap());
    let server = tokio::spawn(running);
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
    server.abort();
}
