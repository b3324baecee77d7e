//! Where an image may come from: a URL is what a user wrote, and a redirection what its server
//! wrote.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{ClientBuilder, Url, redirect};

use crate::remote::{OutOfReach, Reach};

/// Limit of redirections of one download.
const REDIRECTIONS: usize = 10;

/// A client that goes from `url` to no address that is out of reach, whatever redirects it.
///
/// # Errors
/// `url` itself names such an address.
pub(super) fn client(url: &str, reach: Reach) -> Result<ClientBuilder, OutOfReach> {
    // an address in a URL is not resolved; one that is no URL is refused by the client
    if let Ok(url) = Url::parse(url) {
        reach.check_literal(url.host_str().unwrap_or_default())?;
    }
    let builder = reqwest::Client::builder().redirect(each_in(reach.clone()));
    Ok(builder.dns_resolver(Names(reach)))
}

fn each_in(reach: Reach) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        if attempt.previous().len() > REDIRECTIONS {
            return attempt.error("it redirects too often");
        }
        match reach.check_literal(attempt.url().host_str().unwrap_or_default()) {
            Ok(()) => attempt.follow(),
            Err(refused) => attempt.error(refused),
        }
    })
}

struct Names(Reach);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            let found = reach.resolve(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;
    use crate::engine::Chain;

    fn said(error: &reqwest::Error) -> String {
        Chain(error).to_string()
    }

    #[tokio::test]
    async fn no_url_leads_to_an_address_out_of_reach_by_whatever_spelling() {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "127.1", "[::1]", "169.254.169.254"] {
            let url = format!("http://{host}:{port}/debian.iso");
            let refused = client(&url, Reach::given(false)).unwrap_err().to_string();
            assert!(refused.contains("is refused"), "{host}: {refused}");
        }
        let url = format!("http://localhost:{port}/debian.iso");
        let named = client(&url, Reach::given(false)).unwrap().no_proxy();
        let refused = named.build().unwrap().get(url).send().await.unwrap_err();
        assert!(said(&refused).contains("is refused"), "{}", said(&refused));
        assert!(listener.accept().is_err(), "nothing was connected to");
    }

    #[tokio::test]
    async fn a_redirection_is_checked_as_the_url_is() {
        rustls::crypto::ring::default_provider()
            .install_default()
            .ok();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                let read = stream.read(&mut request).unwrap();
                let to = if request[..read].starts_with(b"GET /name") {
                    "localhost"
                } else {
                    "169.254.169.254"
                };
                write!(
                    stream,
                    "HTTP/1.1 302 Found\r\nLocation: http://{to}:{port}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )
                .unwrap();
            }
        });
        for path in ["address", "name"] {
            // only the first address is let through, as if the server were elsewhere
            let reach = Reach::given(false);
            let client = reqwest::Client::builder()
                .redirect(each_in(reach.clone()))
                .dns_resolver(Names(reach))
                .no_proxy()
                .build()
                .unwrap();
            let url = format!("http://127.0.0.1:{port}/{path}");
            let refused = client.get(url).send().await.unwrap_err();
            assert!(said(&refused).contains("is refused"), "{}", said(&refused));
        }
        server.join().unwrap();
    }
}
