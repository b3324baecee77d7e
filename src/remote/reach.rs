//! The addresses that the manager connects to by itself because an object of a user names them.
//!
//! It connects from its own place in the network, where other addresses answer than where the user
//! is: its own loopback, the link of its node with the metadata service of a cloud. None of these
//! is a server of a user's.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// What of it is allowed. Checked are the addresses that a connection then uses, after each
/// resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    local: bool,
    /// Host and port of the management cluster's API.
    not: Option<(Arc<str>, u16)>,
}

/// Why an address is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutOfReach {
    /// It is of a class that leads to the manager's own machine or link.
    #[error(
        "{named} is refused: it {}, as the manager sees it; name an address at which others reach that server",
        meaning(.named, *.address, .class)
    )]
    Local {
        /// The host as it was given.
        named: String,
        /// The address that it means.
        address: IpAddr,
        /// The class.
        class: &'static str,
    },
    /// It is the API server of the management cluster.
    #[error(
        "{named} is refused: it {}; name the API server of the workload cluster",
        meaning(.named, *.address, "the API server of the management cluster itself")
    )]
    Management {
        /// The host as it was given.
        named: String,
        /// The address that it means.
        address: IpAddr,
    },
}

impl Reach {
    /// Everything: for an address that no object names.
    pub const ANYWHERE: Self = Self {
        local: true,
        not: None,
    };

    /// What a user's object may name. With `local`, everything.
    #[must_use]
    pub const fn given(local: bool) -> Self {
        Self { local, not: None }
    }

    /// Without the API server of the management cluster.
    #[must_use]
    pub fn but(mut self, host: &str, port: u16) -> Self {
        self.not = Some((bare(host).into(), port));
        self
    }

    /// With the API server of the management cluster: a cluster that we made may be the one that
    /// manages it.
    #[must_use]
    pub fn with_management(mut self) -> Self {
        self.not = None;
        self
    }

    /// The addresses of a name. One that is refused refuses the name: what answers there may be
    /// chosen by its owner.
    ///
    /// # Errors
    /// It does not resolve, or to an address that is refused.
    pub async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let host = bare(host);
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
        let own: Vec<SocketAddr> = match &self.not {
            Some((own, at)) if !self.local && *at == port => {
                let found = tokio::net::lookup_host((&**own, *at)).await;
                found.map(Iterator::collect).unwrap_or_default()
            }
            _ => Vec::new(),
        };
        for address in &found {
            let address = address.ip().to_canonical();
            self.check(host, address).map_err(io::Error::other)?;
            if own.iter().any(|own| own.ip().to_canonical() == address) {
                let named = host.to_owned();
                return Err(io::Error::other(OutOfReach::Management { named, address }));
            }
        }
        Ok(found)
    }

    /// Checks a host that is an address already; a name is checked when it is resolved.
    ///
    /// # Errors
    /// It is refused.
    pub fn check_literal(&self, host: &str) -> Result<(), OutOfReach> {
        match bare(host).parse() {
            Ok(address) => self.check(host, address),
            Err(_) => Ok(()),
        }
    }

    fn check(&self, named: &str, address: IpAddr) -> Result<(), OutOfReach> {
        match class(address) {
            Some(class) if !self.local => Err(OutOfReach::Local {
                named: named.to_owned(),
                address,
                class,
            }),
            _ => Ok(()),
        }
    }
}

/// What a name is of which an address is this. An administrator may allow such addresses
/// (docs/operating.md, Endpoints): for all namespaces, so it is no remedy for a user.
fn meaning(named: &str, address: IpAddr, class: &str) -> String {
    if named == address.to_string() {
        format!("is {class}")
    } else {
        format!("means {address}, {class}")
    }
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// The class of an address that is refused; none for all others.
fn class(address: IpAddr) -> Option<&'static str> {
    let v4 = match address {
        IpAddr::V4(v4) => v4,
        IpAddr::V6(v6) => match embedded(v6) {
            Some(v4) => v4,
            None => return class_of_v6(v6),
        },
    };
    if v4.octets()[0] == 0 {
        return Some("an unspecified address");
    }
    if v4.is_broadcast() {
        return Some("the broadcast address");
    }
    [
        (v4.is_loopback(), "a loopback address"),
        (v4.is_link_local(), "a link-local address"),
        (v4.is_multicast(), "a multicast address"),
    ]
    .into_iter()
    .find_map(|(is, class)| is.then_some(class))
}

fn class_of_v6(v6: Ipv6Addr) -> Option<&'static str> {
    /// Where AWS answers like at 169.254.169.254.
    const METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    [
        (v6.is_unspecified(), "an unspecified address"),
        (v6.is_loopback(), "a loopback address"),
        (v6.is_unicast_link_local(), "a link-local address"),
        (v6.is_multicast(), "a multicast address"),
        (v6 == METADATA, "the metadata service of a cloud"),
    ]
    .into_iter()
    .find_map(|(is, class)| is.then_some(class))
}

/// The IPv4 address that an IPv6 address stands for: mapped, compatible, or by NAT64.
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    const NAT64: [u8; 12] = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
    let octets = v6.octets();
    let (prefix, last) = octets.split_at(12);
    let last: [u8; 4] = last.try_into().ok()?;
    // those that begin with zeros are `::` and `::1`
    let is_compatible = *prefix == [0; 12] && last[..2] != [0, 0];
    let v4 = (is_compatible || *prefix == NAT64).then(|| last.into());
    v6.to_ipv4_mapped().or(v4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_is_refused_in_each_of_its_forms_and_no_other_address() {
        for (address, expected) in [
            ("127.0.0.1", Some("a loopback address")),
            ("127.255.255.254", Some("a loopback address")),
            ("::1", Some("a loopback address")),
            ("::ffff:127.0.0.1", Some("a loopback address")),
            ("::127.0.0.1", Some("a loopback address")),
            ("64:ff9b::7f00:1", Some("a loopback address")),
            ("169.254.169.254", Some("a link-local address")),
            ("169.254.0.1", Some("a link-local address")),
            ("::ffff:169.254.169.254", Some("a link-local address")),
            ("64:ff9b::a9fe:a9fe", Some("a link-local address")),
            ("fe80::1", Some("a link-local address")),
            ("febf::1", Some("a link-local address")),
            ("fd00:ec2::254", Some("the metadata service of a cloud")),
            ("0.0.0.0", Some("an unspecified address")),
            ("0.1.2.3", Some("an unspecified address")),
            ("::", Some("an unspecified address")),
            ("::ffff:0.0.0.0", Some("an unspecified address")),
            ("224.0.0.18", Some("a multicast address")),
            ("::ffff:224.0.0.18", Some("a multicast address")),
            ("ff02::1", Some("a multicast address")),
            ("255.255.255.255", Some("the broadcast address")),
            ("192.0.2.1", None),
            ("10.0.0.1", None),
            ("172.16.0.1", None),
            ("192.168.1.1", None),
            ("100.64.0.1", None),
            ("169.253.255.255", None),
            ("169.255.0.1", None),
            ("128.0.0.1", None),
            ("1.0.0.1", None),
            ("::ffff:10.0.0.1", None),
            ("64:ff9b::a00:1", None),
            ("fd00::1", None),
            ("fec0::1", None),
            ("2001:db8::1", None),
        ] {
            assert_eq!(class(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[tokio::test]
    async fn names_and_odd_spellings_are_refused_by_what_they_resolve_to() {
        let reach = Reach::given(false);
        for named in [
            "localhost",
            "127.1",
            "2130706433",
            "0x7f000001",
            "[::1]",
            "0.0.0.0",
        ] {
            let error = reach
                .resolve(named, 6443)
                .await
                .expect_err(named)
                .to_string();
            assert!(error.contains("is refused"), "{named}: {error}");
            // that is for all namespaces, and an administrator's to decide
            assert!(!error.contains("--allow-local-endpoints"), "{error}");
            assert!(
                Reach::given(true).resolve(named, 6443).await.is_ok(),
                "{named}"
            );
        }
        for (named, said) in [
            (
                "127.0.0.1",
                "127.0.0.1 is refused: it is a loopback address,",
            ),
            (
                "127.1",
                "127.1 is refused: it means 127.0.0.1, a loopback address,",
            ),
        ] {
            let error = reach.resolve(named, 6443).await.expect_err(named);
            assert!(error.to_string().starts_with(said), "{error}");
        }
        let found = reach.resolve("192.0.2.1", 6443).await.expect("an address");
        assert_eq!(found, ["192.0.2.1:6443".parse().unwrap()]);
    }

    #[tokio::test]
    async fn the_api_of_the_management_cluster_is_refused_at_its_port() {
        let reach = Reach::given(false).but("192.0.2.1", 443);
        let error = reach.resolve("192.0.2.1", 443).await.expect_err("its own");
        assert!(
            error.to_string().contains("management cluster itself"),
            "{error}"
        );
        assert!(reach.resolve("192.0.2.1", 6443).await.is_ok());
        assert!(reach.resolve("192.0.2.2", 443).await.is_ok());
        let all = Reach::given(true).but("192.0.2.1", 443);
        assert!(all.resolve("192.0.2.1", 443).await.is_ok());
    }
}
