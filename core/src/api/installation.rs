//! How the operating system of a Host is installed, by an image in its BMC's virtual CD drive.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::{KubeSchema, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Host;
use super::names::ANNOTATION_INSTALLATION;

/// What is done with a host after its Machine has released it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WipePolicy {
    /// The kubelet is stopped, and the node leaves the cluster; nothing on the host is undone. No Machine
    /// can claim the Host until this field is changed.
    Retain,
    /// What its Machine left is removed over SSH.
    #[default]
    Reset,
    /// Its operating system is reinstalled, on the disk that `rootDeviceHints` names; everything on that disk
    /// is lost.
    Reinstall,
}

/// The disk on which to install. Exactly one disk must match all hints that are set: if none or several do, nothing is
/// written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.serialNumber) || has(self.wwn)")
    .message("set serialNumber or wwn, as lsblk -d -o NAME,SERIAL,WWN prints them on the host"))]
pub struct RootDeviceHints {
    /// Serial number of the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::disk_id")]
    pub serial_number: Option<String>,
    /// World wide name of the disk, such as `0x5000c500a1b2c3d4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::schema::disk_id")]
    pub wwn: Option<String>,
}

impl RootDeviceHints {
    /// Whether this text is the serial number or WWN of a hint, in any notation.
    pub fn is_named(&self, disk: &str) -> bool {
        let disk = normal(disk);
        let hints = [&self.serial_number, &self.wwn];
        let mut hints = hints.into_iter().flatten().map(|hint| normal(hint));
        !disk.is_empty() && hints.any(|hint| hint == disk)
    }
}

/// The same for each way to write a serial number or a WWN; the installer's script does it likewise.
fn normal(id: &str) -> String {
    let id: String = id.split_whitespace().collect();
    let id = id.to_ascii_lowercase();
    let prefixes = ["0x", "naa.", "eui.", "nvme."];
    let bare = prefixes.iter().find_map(|prefix| id.strip_prefix(prefix));
    bare.map_or(id.clone(), str::to_owned)
}

/// How the operating system is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Installation {
    /// The installer.
    pub iso: IsoImage,
    /// ConfigMap of this namespace whose `preseed.cfg` holds further answers for the installer. They override the
    /// defaults (mirror, locale, partitions, packages), but not what sets the disk, the keys and the end of the installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preseed_ref: Option<ConfigMapRef>,
    /// How long an installation may take, from power-off to the first login, in seconds.
    #[serde(default = "an_hour")]
    #[schemars(range(min = 10, max = 86400))]
    pub timeout_seconds: i64,
}

/// An ISO image of the Debian installer with an embed area, such as `hack/image/installer` makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IsoImage {
    /// URL from which the manager downloads it, once: http or https.
    #[schemars(schema_with = "super::schema::image_url")]
    pub url: String,
    /// SHA-256 of the image, in hexadecimal digits.
    #[schemars(schema_with = "super::schema::sha256")]
    pub sha256: String,
}

/// Reference to a ConfigMap in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapRef {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Progress of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The installer is fetched, and the host is made to boot it.
    Booting,
    /// The installer runs. It switches the host off at its end.
    Installing,
    /// The image is out of the drive, and the installed system boots.
    Starting,
    /// It failed, and nothing more is done until it is requested again.
    Failed,
}

/// Why an installation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// The manager could not fetch the installer in time.
    ImageUnavailable,
    /// What was fetched has another SHA-256.
    ImageWrong,
    /// It has no embed area, or there is more to be put in than fits.
    ImageUnsuitable,
    /// Its answers cannot be rendered: a key, a ConfigMap or a value is missing or invalid.
    AnswersUnfit,
    /// The BMC did not answer in time.
    BmcSilent,
    /// The BMC refused the image, or could not download it.
    MediaRefused,
    /// The host could not be switched on or off, or could not be set to boot from CD.
    PowerRefused,
    /// The installer found no disk that matches.
    NoDisk,
    /// The installer found several.
    SeveralDisks,
    /// The installer could not finish.
    InstallerFailed,
    /// The installer neither finished nor refused in time.
    InstallerSilent,
    /// The installed system did not answer in time.
    SystemSilent,
    /// It was cancelled.
    Cancelled,
    /// The record on the Host cannot be read.
    Unreadable,
}

/// An installation that is under way or failed, as recorded on the Host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Unique ID of this installation.
    pub id: String,
    /// Its progress.
    pub phase: Phase,
    /// When it began.
    pub started: Time,
    /// The host key that the installed system will show.
    pub host_key: String,
    /// The disk that it was begun for; not in a record of an earlier release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_device_hints: Option<RootDeviceHints>,
    /// SHA-256 of the installer that it was begun with; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iso_sha256: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The same, human-readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Record {
    /// The record on a Host, if any. One that cannot be read counts as failed.
    pub fn of(host: &Host) -> Option<Self> {
        let text = host.annotations().get(ANNOTATION_INSTALLATION)?;
        let read = serde_json::from_str(text).map_err(|error| Self {
            id: String::new(),
            phase: Phase::Failed,
            started: Time(Timestamp::UNIX_EPOCH),
            host_key: String::new(),
            root_device_hints: None,
            iso_sha256: None,
            cause: Some(Cause::Unreadable),
            message: Some(format!(
                "the annotation {ANNOTATION_INSTALLATION} cannot be read: {error}"
            )),
        });
        Some(read.unwrap_or_else(|unreadable| unreadable))
    }

    /// Whether something is still to be done.
    pub fn is_active(&self) -> bool {
        self.phase != Phase::Failed
    }
}

fn an_hour() -> i64 {
    3600
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_named_by_either_hint_in_any_spelling_and_by_nothing_else() {
        let hints = RootDeviceHints {
            serial_number: Some("S3Z9 NB0K".into()),
            wwn: Some("0x5000C500A1B2C3D4".into()),
        };
        for named in ["s3z9nb0k", " S3Z9NB0K ", "naa.5000c500a1b2c3d4"] {
            assert!(hints.is_named(named), "{named}");
        }
        for other in ["", " ", "true", "S3Z9NB0", "0x"] {
            assert!(!hints.is_named(other), "{other}");
        }
    }
}
