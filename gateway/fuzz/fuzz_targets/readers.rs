//! What is read from libvirt, guests, files and strangers: nothing of it may panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tatara_gateway::api::types::ImageFormat;
use tatara_gateway::libvirt::addresses::{self, ByMac};
use tatara_gateway::libvirt::{Driver, Facts, domain_xml};
use tatara_gateway::{auth, images};

fuzz_target!(|data: &[u8]| {
    let Some((which, data)) = data.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(data);
    match which {
        b'd' => {
            if let Ok(view) = domain_xml::read(&text) {
                let known: ByMac =
                    [(String::from("52:54:00:00:00:01"), vec![text.into_owned()])].into();
                let found = addresses::of_cards(&view, &ByMac::new(), &ByMac::new(), || known);
                assert!(found.len() <= view.interfaces.len() * addresses::MOST_PER_CARD);
            }
        }
        b'c' => drop(Facts::parse(Driver::Qemu, &text)),
        b'l' => addresses::parse_leases(&text, jiff::Timestamp::UNIX_EPOCH, &mut ByMac::new()),
        b'a' => addresses::parse_arp(&text, &mut ByMac::new()),
        b'g' => drop(addresses::parse_agent(&text)),
        b't' => drop(auth::parse(&text)),
        b'q' => drop(images::header_problem(data, ImageFormat::Qcow2)),
        _ => {}
    }
});
