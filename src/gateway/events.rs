//! Server-sent events (WHATWG HTML, section 9.2), as far as gateways use them. No I/O.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use tatara_gateway_wire::LONGEST_ANSWER;
use tatara_gateway_wire::event::{self, ImageGone, MachineGone};

use tatara_core::hypervisor::Event;
use tatara_core::wire::Machine;

/// Limit of a virtual machine's id: a UUID.
const LONGEST_ID: usize = 64;

/// Assembles events from pieces of text. A malformed event does not affect the next.
#[derive(Default)]
pub struct Reader {
    rest: Vec<u8>,
    name: String,
    data: String,
    /// The event exceeds the limit.
    is_cut: bool,
}

impl Reader {
    /// Reads a piece of the stream, and returns the events that it completes.
    pub fn take(&mut self, piece: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        let mut lines = piece.split(|byte| *byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            let room = LONGEST_ANSWER.saturating_sub(self.rest.len() + self.data.len());
            self.is_cut |= part.len() > room;
            self.rest.extend_from_slice(&part[..part.len().min(room)]);
            // the text after the last line break is the beginning of a line
            if lines.peek().is_some() {
                let line = std::mem::take(&mut self.rest);
                let line = String::from_utf8_lossy(&line);
                events.extend(self.line(line.trim_end_matches('\r')));
            }
        }
        events
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let Self {
                name, data, is_cut, ..
            } = std::mem::take(self);
            return decode(&name, &data, is_cut);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // comments keep the connection alive; ids and retries are not used
            _ => {}
        }
        None
    }
}

fn decode(name: &str, data: &str, is_cut: bool) -> Option<Event> {
    let read = match name {
        event::MACHINE => read(data, is_cut, |machine| Event::Machine(Box::new(machine))),
        event::MACHINE_GONE => read(data, is_cut, |gone: MachineGone| {
            Event::MachineGone(gone.id)
        }),
        event::IMAGE => read(data, is_cut, Event::Image),
        event::IMAGE_GONE => read(data, is_cut, |gone: ImageGone| {
            Event::ImageGone(gone.sha256, gone.pool)
        }),
        event::CAPACITY => read(data, is_cut, Event::Capacity),
        event::SYNCED => return Some(Event::Synced),
        // a newer gateway may send other events
        _ => return None,
    };
    Some(match (read, id_of(data)) {
        (Ok(Event::Machine(machine)), _) if machine.id.len() > LONGEST_ID => Event::Unreadable(
            format!("event {name}: an id has more than {LONGEST_ID} bytes"),
        ),
        (Ok(told), _) => told,
        // an unreadable virtual machine still exists
        (Err(_), Some(id)) if name == event::MACHINE => {
            Event::Machine(Box::new(Machine::unreadable(&id)))
        }
        (Err(why), _) => Event::Unreadable(format!("event {name}: {why}")),
    })
}

fn read<T: DeserializeOwned>(
    data: &str,
    is_cut: bool,
    told: impl FnOnce(T) -> Event,
) -> Result<Event, String> {
    if is_cut {
        return Err(format!("it is larger than {LONGEST_ANSWER} bytes"));
    }
    let read = serde_json::from_str(data);
    read.map(told).map_err(|error| error.to_string())
}

/// The `id` of a document that cannot be parsed as a whole.
fn id_of(data: &str) -> Option<String> {
    struct Fields<'a>(&'a mut Option<String>);
    impl<'de> Visitor<'de> for Fields<'_> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
            while let Some(name) = fields.next_key::<String>()? {
                if name == "id" {
                    *self.0 = Some(fields.next_value()?);
                } else {
                    fields.next_value::<IgnoredAny>()?;
                }
            }
            Ok(())
        }
    }
    let mut id = None;
    // it ends with an error, at the latest at the cut of the document
    serde_json::Deserializer::from_str(data)
        .deserialize_map(Fields(&mut id))
        .ok();
    id.filter(|id| id.len() <= LONGEST_ID)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_any_pieces() {
        let text = ": hello\n\nevent: machine-gone\ndata: {\"id\":\"a\"}\n\nevent: synced\r\ndata:\r\n\r\nevent: later\ndata: x\n\n";
        let expected = [Event::MachineGone("a".into()), Event::Synced];
        for size in 1..text.len() {
            let mut reader = Reader::default();
            let events: Vec<Event> = text
                .as_bytes()
                .chunks(size)
                .flat_map(|piece| reader.take(piece))
                .collect();
            assert_eq!(events, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn data_of_several_lines_is_one_document() {
        let mut reader = Reader::default();
        let text = "event: image-gone\ndata: {\"sha256\":\"a\",\ndata: \"pool\":\"b\"}\n\n";
        let events = reader.take(text.as_bytes());
        assert_eq!(events, [Event::ImageGone("a".into(), "b".into())]);
    }

    fn told(text: &str) -> Vec<Event> {
        Reader::default().take(text.as_bytes())
    }

    #[test]
    fn of_a_virtual_machine_that_cannot_be_read_it_is_known_that_it_is_there() {
        let unreadable = Event::Machine(Box::new(Machine::unreadable("a")));
        let long = format!(
            "{{\"id\":\"a\",\"more\":\"{}\"}}",
            "x".repeat(LONGEST_ANSWER)
        );
        for data in ["{\"id\":\"a\",\"spec\":7}", "{\"id\":\"a\"", &long] {
            let next = "event: machine-gone\ndata: {\"id\":\"b\"}\n\n";
            let events = told(&format!("event: machine\ndata: {data}\n\n{next}"));
            let gone = Event::MachineGone("b".into());
            assert_eq!(events, [unreadable.clone(), gone], "the next is read");
        }
    }

    #[test]
    fn an_id_that_is_none_is_not_kept() {
        let id = "a".repeat(LONGEST_ID + 1);
        let data = format!("{{\"id\":\"{id}\",\"spec\":{{\"name\":\"n\"}},\"state\":\"off\"}}");
        let events = told(&format!("event: machine\ndata: {data}\n\n"));
        let [Event::Unreadable(why)] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert!(why.contains("an id has more than 64 bytes"), "{why}");
    }

    #[test]
    fn what_cannot_be_read_at_all_is_said_and_the_next_is_read() {
        let long = "x".repeat(3 * LONGEST_ANSWER);
        for data in ["{}", "no JSON", "{\"more\":1,\"id\":{}}", &long] {
            for name in ["machine", "machine-gone", "capacity", "image"] {
                let events = told(&format!("event: {name}\ndata: {data}\n\nevent: synced\n\n"));
                let [Event::Unreadable(why), Event::Synced] = events.as_slice() else {
                    panic!("{events:?}")
                };
                assert!(why.starts_with(&format!("event {name}: ")), "{why}");
            }
        }
    }

    #[test]
    fn a_line_without_end_takes_no_more_than_is_kept() {
        let mut reader = Reader::default();
        for _ in 0..100 {
            assert_eq!(reader.take(&vec![b'x'; LONGEST_ANSWER / 10]), []);
        }
        assert_eq!(reader.rest.len(), LONGEST_ANSWER);
        assert_eq!(reader.take(b"\n\nevent: synced\n\n"), [Event::Synced]);
    }
}
