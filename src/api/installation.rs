//! How the operating system of a Host is installed, by an image in its BMC's virtual CD drive.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::{KubeSchema, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Host;
use super::names::ANNOTATION_INSTALLATION;

/// What becomes of a host when its Machine has released it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WipePolicy {
    /// The kubelet is stopped, and the node leaves the cluster; nothing on the host is undone. The Host is not
    /// handed out before this field says something else.
    Retain,
    /// What its Machine left is removed, over SSH.
    #[default]
    Reset,
    /// Its operating system is installed anew, on the disk that `rootDeviceHints` names; everything on that disk
    /// is lost.
    Reinstall,
}

/// Which disk is installed on. Each hint that is set must hold, and for exactly one disk: where none or several
/// match, nothing is written.
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
    /// Whether a person who names a disk so means this one.
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
    /// ConfigMap of this namespace whose `preseed.cfg` holds further answers for the installer. They win over our
    /// defaults (mirror, locale, partitions, packages), and not over what names the disk, the keys and the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preseed_ref: Option<ConfigMapRef>,
    /// How long an installation may take, from power off to a login, in seconds.
    #[serde(default = "an_hour")]
    #[schemars(range(min = 10, max = 86400))]
    pub timeout_seconds: i64,
}

/// An ISO image of the Debian installer with an embed area, such as `hack/image/installer` makes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IsoImage {
    /// Where the manager fetches it, once: http or https.
    #[schemars(schema_with = "super::schema::image_url")]
    pub url: String,
    /// SHA-256 of it, in hexadecimal digits.
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

/// How far an installation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// The installer is fetched, and the host is made to boot it.
    Booting,
    /// The installer runs. It switches the host off at its end.
    Installing,
    /// The image is out of the drive, and the installed system boots.
    Starting,
    /// It failed, and nothing more is done before somebody asks again.
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
    /// What it is to be told cannot be made: a key, a ConfigMap or a value is missing or unfit.
    AnswersUnfit,
    /// The BMC could not be asked in time.
    BmcSilent,
    /// The BMC would not take the image, or could not fetch it.
    MediaRefused,
    /// The host could not be switched, or would not boot from CD.
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
    /// It was called off.
    Cancelled,
    /// What stands on the Host cannot be read.
    Unreadable,
}

/// What is under way, as it stands on the Host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Names this installation, and no other.
    pub id: String,
    /// How far it is.
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
    /// The same for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Record {
    /// What stands on a Host, if anything does. What cannot be read has failed.
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
