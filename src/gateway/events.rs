//! Server-sent events (WHATWG HTML, §9.2), as far as a gateway sends them. Pure.

use super::GatewayError;
use super::types::{Capacity, Image, Machine};

/// What a gateway tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A virtual machine came, or is different.
    Machine(Box<Machine>),
    /// A virtual machine is gone.
    MachineGone(String),
    /// An image came, or is different.
    Image(Image),
    /// An image is gone: its sum and its pool.
    ImageGone(String, String),
    /// What the hypervisor has.
    Capacity(Capacity),
    /// All that there is has been told; what follows is news.
    Synced,
}

/// Longest event: more is no gateway's.
const LONGEST: usize = 1 << 20;

/// Puts events together from pieces of text.
#[derive(Default)]
pub struct Reader {
    rest: Vec<u8>,
    name: String,
    data: String,
}

impl Reader {
    /// Takes a piece of the stream, and returns the events that it completes. An error says what is wrong
    /// with it.
    pub fn take(&mut self, piece: &[u8]) -> Result<Vec<Event>, String> {
        self.rest.extend_from_slice(piece);
        let mut events = Vec::new();
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if let Some(event) = self.line(line.trim_end_matches(['\r', '\n']))? {
                events.push(event);
            }
        }
        if self.rest.len() + self.data.len() > LONGEST {
            return Err(format!("an event of more than {LONGEST} bytes"));
        }
        Ok(events)
    }

    fn line(&mut self, line: &str) -> Result<Option<Event>, String> {
        if line.is_empty() {
            let (name, data) = (
                std::mem::take(&mut self.name),
                std::mem::take(&mut self.data),
            );
            return decode(&name, &data);
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
        Ok(None)
    }
}

#[derive(serde::Deserialize)]
struct Gone {
    #[serde(alias = "sha256")]
    id: String,
    #[serde(default)]
    pool: String,
}

fn decode(name: &str, data: &str) -> Result<Option<Event>, String> {
    fn read<T: serde::de::DeserializeOwned>(name: &str, data: &str) -> Result<T, String> {
        serde_json::from_str(data).map_err(|error| format!("event {name}: {error}"))
    }
    Ok(Some(match name {
        "machine" => Event::Machine(read(name, data)?),
        "machine-gone" => Event::MachineGone(read::<Gone>(name, data)?.id),
        "image" => Event::Image(read(name, data)?),
        "image-gone" => {
            let gone: Gone = read(name, data)?;
            Event::ImageGone(gone.id, gone.pool)
        }
        "capacity" => Event::Capacity(read(name, data)?),
        "synced" => Event::Synced,
        // a newer gateway may tell more
        _ => return Ok(None),
    }))
}

/// What an unreadable event is, as an error of a gateway.
pub fn unreadable(url: &str, why: String) -> GatewayError {
    GatewayError::Unreadable {
        url: url.to_owned(),
        why,
    }
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
                .flat_map(|piece| reader.take(piece).expect("readable"))
                .collect();
            assert_eq!(events, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn data_of_several_lines_is_one_document() {
        let mut reader = Reader::default();
        let text = "event: image-gone\ndata: {\"sha256\":\"a\",\ndata: \"pool\":\"b\"}\n\n";
        let events = reader.take(text.as_bytes()).expect("readable");
        assert_eq!(events, [Event::ImageGone("a".into(), "b".into())]);
    }

    #[test]
    fn an_event_that_cannot_be_read_and_one_without_end_are_errors() {
        let mut reader = Reader::default();
        let error = reader
            .take(b"event: machine\ndata: {}\n\n")
            .expect_err("no machine");
        assert!(error.starts_with("event machine: missing field"), "{error}");
        let error = Reader::default()
            .take(&vec![b'x'; LONGEST + 1])
            .expect_err("too long");
        assert!(error.contains("more than"), "{error}");
    }
}
