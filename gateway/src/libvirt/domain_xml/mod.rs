//! Domain XML: writing that of machines, reading that of all domains.

mod devices;
mod metadata;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use devices::{ConsoleLog, Disk, DiskFormat, console_name, disk};
pub use metadata::{Metadata, NAMESPACE};
pub use read::{DomainView, InterfaceView, Ours, read};
pub use write::{Domain, write};

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesText, Event};

/// XML writer in memory.
pub(crate) type Xml = Writer<Vec<u8>>;

/// Writes an element with text.
///
/// # Errors
/// `io::Error` of the writer; none when it writes to memory.
pub(crate) fn text(xml: &mut Xml, name: &str, text: &str) -> io::Result<()> {
    xml.create_element(name)
        .write_text_content(BytesText::new(text))?;
    Ok(())
}

/// Writes an element with attributes and no content.
///
/// # Errors
/// `io::Error` of the writer; none when it writes to memory.
pub(crate) fn empty(xml: &mut Xml, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
    xml.create_element(name)
        .with_attributes(attributes.iter().copied())
        .write_empty()?;
    Ok(())
}

/// Writes an element with attributes and children.
///
/// # Errors
/// `io::Error` of the writer or of `children`; none when they write to memory.
pub(crate) fn nested(
    xml: &mut Xml,
    name: &str,
    attributes: &[(&str, &str)],
    children: impl FnOnce(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    let element = quick_xml::events::BytesStart::new(name);
    let element = element.with_attributes(attributes.iter().copied());
    xml.write_event(Event::Start(element))?;
    children(xml)?;
    xml.write_event(Event::End(quick_xml::events::BytesEnd::new(name)))
}

/// The document that `write` writes. Writing to memory does not fail.
pub(crate) fn document(write: impl FnOnce(&mut Xml) -> io::Result<()>) -> String {
    let mut xml = Writer::new(Vec::new());
    match write(&mut xml) {
        Ok(()) => String::from_utf8(xml.into_inner()).unwrap_or_default(),
        Err(error) => {
            tracing::error!(%error, "failed to write XML");
            String::new()
        }
    }
}
