//! Resources of BMCs, decoded leniently: a field may be missing; one of another type than the
//! standard's counts as missing.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tatara_core::host::PowerState;

/// A value of the expected type, or the default.
fn tolerant<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// Characters of a text: a name, a serial number, a message.
const TEXT: usize = 256;
/// Bytes of a path or URL. A longer one counts as missing.
const PATH: usize = 2048;
/// Items of a list: a blade chassis has some dozens of systems.
pub(super) const ITEMS: usize = 64;

/// Text, cut; a number becomes text.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) if !text.trim().is_empty() => Some(cut(text.trim())),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

fn cut(text: &str) -> String {
    text.chars().take(TEXT).collect()
}

/// A path or URL, whole.
fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(path) if path.len() <= PATH && !path.trim().is_empty() => {
            Some(path.trim().to_owned())
        }
        _ => None,
    })
}

/// The path of a link, whole.
fn link<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let path = String::deserialize(deserializer)?;
    if path.len() > PATH {
        return Err(D::Error::custom("it is longer than paths are"));
    }
    Ok(path)
}

/// A list of texts; other items are skipped.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let Value::Array(values) = Value::deserialize(deserializer)? else {
        return Ok(Vec::new());
    };
    let texts = values.iter().filter_map(Value::as_str).map(cut);
    Ok(texts.take(ITEMS).collect())
}

/// A list of resources; other items are skipped.
fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let Value::Array(values) = Value::deserialize(deserializer)? else {
        return Ok(Vec::new());
    };
    let items = values.into_iter().map(serde_json::from_value);
    Ok(items.filter_map(Result::ok).take(ITEMS).collect())
}

/// A reference to another resource.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Link {
    #[serde(rename = "@odata.id", deserialize_with = "link")]
    pub(super) id: String,
}

/// The service root, `/redfish/v1/`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct ServiceRoot {
    #[serde(deserialize_with = "tolerant")]
    pub(super) systems: Option<Link>,
    #[serde(deserialize_with = "tolerant")]
    pub(super) managers: Option<Link>,
    #[serde(deserialize_with = "tolerant")]
    pub(super) session_service: Option<Link>,
    #[serde(deserialize_with = "tolerant")]
    pub(super) links: RootLinks,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct RootLinks {
    #[serde(deserialize_with = "tolerant")]
    pub(super) sessions: Option<Link>,
}

/// A collection of resources.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Collection {
    #[serde(deserialize_with = "list")]
    pub(super) members: Vec<Link>,
}

/// A `ComputerSystem`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct System {
    /// Path that it was read from.
    #[serde(skip)]
    pub(super) path: String,
    #[serde(deserialize_with = "text")]
    pub(super) id: Option<String>,
    #[serde(rename = "UUID", deserialize_with = "text")]
    pub(super) uuid: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) serial_number: Option<String>,
    #[serde(deserialize_with = "tolerant")]
    pub(super) power_state: PowerState,
    #[serde(deserialize_with = "tolerant")]
    pub(super) boot: Boot,
    #[serde(deserialize_with = "tolerant")]
    pub(super) actions: SystemActions,
    #[serde(deserialize_with = "tolerant")]
    pub(super) virtual_media: Option<Link>,
    #[serde(deserialize_with = "tolerant")]
    pub(super) links: SystemLinks,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct SystemLinks {
    #[serde(deserialize_with = "list")]
    pub(super) managed_by: Vec<Link>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SystemActions {
    #[serde(rename = "#ComputerSystem.Reset", deserialize_with = "tolerant")]
    pub(super) reset: Option<ActionTarget>,
}

/// Target of an action, and the values that it allows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ActionTarget {
    #[serde(deserialize_with = "path")]
    pub(super) target: Option<String>,
    #[serde(
        rename = "ResetType@Redfish.AllowableValues",
        deserialize_with = "texts"
    )]
    pub(super) reset_types: Vec<String>,
    #[serde(rename = "@Redfish.ActionInfo", deserialize_with = "path")]
    pub(super) info: Option<String>,
}

/// An `ActionInfo`: the parameters of an action.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct ActionInfo {
    #[serde(deserialize_with = "list")]
    pub(super) parameters: Vec<Parameter>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Parameter {
    #[serde(deserialize_with = "text")]
    pub(super) name: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) allowable_values: Vec<String>,
}

/// The boot source override of a system.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Boot {
    #[serde(rename = "BootSourceOverrideEnabled", deserialize_with = "text")]
    pub(super) enabled: Option<String>,
    #[serde(rename = "BootSourceOverrideTarget", deserialize_with = "text")]
    pub(super) target: Option<String>,
    #[serde(rename = "BootSourceOverrideMode", deserialize_with = "text")]
    pub(super) mode: Option<String>,
    #[serde(
        rename = "BootSourceOverrideTarget@Redfish.AllowableValues",
        deserialize_with = "texts"
    )]
    pub(super) targets: Vec<String>,
}

/// A boot source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootDevice {
    /// The system's disk.
    Hdd,
    /// The network (PXE).
    Pxe,
    /// A CD, real or virtual.
    Cd,
    /// A URL that UEFI boots from (HTTP boot).
    UefiHttp,
}

impl BootDevice {
    /// As Redfish spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hdd => "Hdd",
            Self::Pxe => "Pxe",
            Self::Cd => "Cd",
            Self::UefiHttp => "UefiHttp",
        }
    }
}

/// A boot source override as the BMC reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootOverride {
    /// `Once`, `Continuous` or `Disabled`. Some BMCs turn `Once` into `Continuous`.
    pub enabled: String,
    /// The boot source.
    pub target: String,
}

/// A `VirtualMedia` resource.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct VirtualMedia {
    /// Path that it was read from.
    #[serde(skip)]
    pub(super) path: String,
    #[serde(deserialize_with = "text")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub(super) media_types: Vec<String>,
    #[serde(deserialize_with = "tolerant")]
    pub(super) inserted: Option<bool>,
    #[serde(deserialize_with = "path")]
    pub(super) image: Option<String>,
    #[serde(deserialize_with = "tolerant")]
    pub(super) actions: MediaActions,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MediaActions {
    #[serde(rename = "#VirtualMedia.InsertMedia", deserialize_with = "tolerant")]
    pub(super) insert: Option<ActionTarget>,
    #[serde(rename = "#VirtualMedia.EjectMedia", deserialize_with = "tolerant")]
    pub(super) eject: Option<ActionTarget>,
}

/// A `Manager`, with its virtual drives.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Manager {
    #[serde(deserialize_with = "tolerant")]
    pub(super) virtual_media: Option<Link>,
}

/// A `Task`, or the body of its monitor.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Task {
    #[serde(rename = "@odata.id", deserialize_with = "path")]
    pub(super) path: Option<String>,
    #[serde(rename = "TaskState", deserialize_with = "text")]
    pub(super) state: Option<String>,
    #[serde(deserialize_with = "list")]
    pub(super) messages: Vec<Message>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Message {
    #[serde(deserialize_with = "text")]
    pub(super) message: Option<String>,
}

#[cfg(test)]
mod tests;
