use super::*;

fn view(macs: &[&str]) -> DomainView {
    let card = |mac: &&str| InterfaceView {
        mac: (*mac).to_owned(),
        network: None,
        bridge: None,
    };
    DomainView {
        uuid: uuid::Uuid::nil(),
        name: String::new(),
        cpus: 1,
        memory_bytes: 1,
        interfaces: macs.iter().map(card).collect(),
        disks: Vec::new(),
        console: None,
        agent: false,
        ours: None,
    }
}

fn of(view: &DomainView, known: &ByMac) -> Vec<Address> {
    of_cards(view, known, &ByMac::new(), ByMac::new)
}

fn plain(addresses: &[Address]) -> Vec<(&str, &str)> {
    addresses
        .iter()
        .map(|found| (found.mac.as_str(), found.address.as_str()))
        .collect()
}

#[test]
fn leases_are_matched_by_mac_whatever_the_hostname_says_and_the_newest_comes_first() {
    let text = r#"[
        {"ip-address":"10.88.1.9","mac-address":"52:54:00:00:00:01","hostname":"same","expiry-time":200},
        {"ip-address":"10.88.1.10","mac-address":"52:54:00:00:00:01","hostname":"same","expiry-time":300},
        {"ip-address":"10.88.1.11","mac-address":"52:54:00:00:00:02","hostname":"same","expiry-time":300},
        {"ip-address":"10.88.1.12","mac-address":"52:54:00:00:00:03","expiry-time":100},
        {"ip-address":"10.88.1.13","mac-address":"52:54:00:00:00:04"}]"#;
    let mut found = ByMac::new();
    parse_leases(
        text,
        Timestamp::from_second(150).expect("a time"),
        &mut found,
    );
    let view = view(&[
        "52:54:00:00:00:01",
        "52:54:00:00:00:03",
        "52:54:00:00:00:04",
    ]);
    let expected = [
        ("52:54:00:00:00:01", "10.88.1.10"),
        ("52:54:00:00:00:01", "10.88.1.9"),
        ("52:54:00:00:00:04", "10.88.1.13"),
    ];
    assert_eq!(plain(&of(&view, &found)), expected);
}

#[test]
fn an_arp_entry_counts_when_it_is_complete() {
    let text = "IP address       HW type     Flags       HW address            Mask     Device\n\
        10.0.0.1         0x1         0x2         52:54:00:AA:00:01     *        br0\n\
        10.0.0.2         0x1         0x0         52:54:00:aa:00:02     *        br0\n";
    let mut found = ByMac::new();
    parse_arp(text, &mut found);
    let view = view(&["52:54:00:aa:00:01", "52:54:00:aa:00:02"]);
    assert_eq!(
        plain(&of(&view, &found)),
        [("52:54:00:aa:00:01", "10.0.0.1")]
    );
}

#[test]
fn an_agent_speaks_for_the_machines_own_cards_alone_and_in_addresses() {
    let text = r#"{"return":[
        {"name":"lo","hardware-address":"00:00:00:00:00:00","ip-addresses":[{"ip-address":"127.0.0.1"}]},
        {"name":"cni0","hardware-address":"52:54:00:99:00:01","ip-addresses":[{"ip-address":"10.244.0.1"}]},
        {"name":"eth0","hardware-address":"52:54:00:00:00:01","ip-addresses":[
            {"ip-address":"fe80::1"},{"ip-address":"10.0.0.7"},{"ip-address":"2001:db8::7"},
            {"ip-address":"<script>"},{"ip-address":"127.0.0.1"}]},
        {"name":"eth1","hardware-address":"52:54:00:00:00:02"}]}"#;
    let found = parse_agent(text);
    let view = view(&["52:54:00:00:00:01", "52:54:00:00:00:02"]);
    let expected = [
        ("52:54:00:00:00:01", "10.0.0.7"),
        ("52:54:00:00:00:01", "2001:db8::7"),
    ];
    assert_eq!(plain(&of(&view, &found)), expected);
}

#[test]
fn nonsense_is_nobodys_address() {
    let mut found = ByMac::new();
    parse_leases("[{\"ip-address\":1}]", Timestamp::UNIX_EPOCH, &mut found);
    parse_leases("", Timestamp::UNIX_EPOCH, &mut found);
    parse_arp("\n\n x\n", &mut found);
    assert_eq!(found, ByMac::new());
    assert_eq!(parse_agent("{\"return\":{}}"), ByMac::new());
}

#[test]
fn each_card_has_its_surest_source_whatever_the_others_have() {
    let known = |entries: &[(&str, &str)]| -> ByMac {
        let entries = entries.iter();
        entries
            .map(|(mac, address)| ((*mac).to_owned(), vec![(*address).to_owned()]))
            .collect()
    };
    let leases = known(&[("a", "10.0.0.1")]);
    let arp = known(&[("a", "10.9.9.9"), ("b", "10.0.0.2")]);
    let agent = || known(&[("a", "10.9.9.9"), ("b", "10.9.9.9"), ("c", "10.0.0.3")]);
    // the interface on a bridge precedes that on a network, and only the guest agent knows its
    // address
    let found = of_cards(&view(&["c", "a", "b", "d"]), &leases, &arp, agent);
    let expected = [
        ("c", "10.0.0.3", AddressSource::Agent),
        ("a", "10.0.0.1", AddressSource::Lease),
        ("b", "10.0.0.2", AddressSource::Arp),
    ];
    let found: Vec<_> = found
        .iter()
        .map(|found| (found.mac.as_str(), found.address.as_str(), found.source))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_guest_is_not_asked_where_the_hypervisor_knows_all_its_cards() {
    let leases: ByMac = [("a".to_owned(), vec!["10.0.0.1".to_owned()])].into();
    let asked = || panic!("asked");
    assert_eq!(
        of_cards(&view(&["a"]), &leases, &ByMac::new(), asked).len(),
        1
    );
}

#[test]
fn a_guest_that_claims_a_thousand_addresses_has_a_few() {
    let many = (0..1000).map(|n| format!("10.0.{}.{}", n / 250, n % 250));
    let known: ByMac = [("a".to_owned(), many.collect())].into();
    for found in [
        of_cards(&view(&["a"]), &known, &ByMac::new(), ByMac::new),
        of_cards(&view(&["a"]), &ByMac::new(), &known, ByMac::new),
        of_cards(&view(&["a"]), &ByMac::new(), &ByMac::new(), || {
            known.clone()
        }),
    ] {
        assert_eq!(found.len(), MOST_PER_CARD);
        assert_eq!(found[0].address, "10.0.0.0");
    }
}
