//! The one address that kubeadm derives from a network: that of the cluster's DNS.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// kubeadm gives DNS the tenth address of the first service network (`GetDNSIP` in kubeadm's
/// constants).
const DNS_INDEX: u8 = 10;

/// The DNS service's address; absent when this is no network, or one of fewer than 16 addresses.
pub(super) fn dns_address(service_cidr: &str) -> Option<IpAddr> {
    let (address, bits) = service_cidr.split_once('/')?;
    let (address, bits): (IpAddr, u32) = (address.parse().ok()?, bits.parse().ok()?);
    match address {
        IpAddr::V4(v4) if bits <= 28 => {
            let network = v4.to_bits() & u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            Some(Ipv4Addr::from_bits(network | u32::from(DNS_INDEX)).into())
        }
        IpAddr::V6(v6) if bits <= 124 => {
            let network = v6.to_bits() & u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            Some(Ipv6Addr::from_bits(network | u128::from(DNS_INDEX)).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dns_has_the_tenth_address_of_the_service_network() {
        for (cidr, address) in [
            ("10.96.0.0/16", Some("10.96.0.10")),
            ("100.64.0.0/13", Some("100.64.0.10")),
            ("10.0.0.240/28", Some("10.0.0.250")),
            ("fd00:10::/108", Some("fd00:10::a")),
            ("0.0.0.0/0", Some("0.0.0.10")),
            ("10.0.0.0/29", None),
            ("10.0.0.0/33", None),
            ("10.0.0.0", None),
            ("services/16", None),
        ] {
            let wanted = address.map(|text| text.parse().unwrap());
            assert_eq!(dns_address(cidr), wanted, "{cidr}");
        }
    }
}
