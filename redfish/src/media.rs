//! Virtual media: inserts the image at a URL as the system's CD.

use serde_json::{Value, json};

use super::choose;
use super::resources::{ActionTarget, Collection, ITEMS, Link, Manager, System, VirtualMedia};
use super::{Bmc, Error};

impl Bmc {
    /// Inserts the image at this URL into the virtual CD drive, after ejecting what is in it.
    ///
    /// # Errors
    /// The BMC cannot be reached, has no virtual CD drive, refuses the image, or does not report it
    /// as inserted.
    pub async fn insert_cd(&mut self, image: &str) -> Result<(), Error> {
        let drive = self.drive().await?;
        if drive.inserted == Some(true) {
            self.eject(&drive).await?;
        }
        let whole = json!({ "Image": image, "Inserted": true, "WriteProtected": true });
        match target(drive.actions.insert.as_ref()) {
            Some(target) => match self.act(&target, &whole).await {
                // some BMCs accept the field Image alone
                Err(Error::Refused { status: 400, .. }) => {
                    self.act(&target, &json!({ "Image": image })).await?;
                }
                result => result?,
            },
            // and some have no action for it
            None => self.patch(&drive.path, &whole).await?,
        }
        self.await_drive(&drive.path, true).await
    }

    /// Ejects the image of the virtual CD drive, if it has one.
    ///
    /// # Errors
    /// The BMC cannot be reached, has no virtual CD drive, or still reports an image.
    pub async fn eject_cd(&mut self) -> Result<(), Error> {
        let drive = self.drive().await?;
        if drive.inserted == Some(false) {
            return Ok(());
        }
        self.eject(&drive).await
    }

    /// URL of the image in the virtual CD drive, if there is one.
    ///
    /// # Errors
    /// The BMC cannot be reached, or has no virtual CD drive.
    pub async fn cd(&mut self) -> Result<Option<String>, Error> {
        let drive = self.drive().await?;
        let is_in = drive.inserted != Some(false);
        Ok(drive.image.filter(|image| is_in && !image.is_empty()))
    }

    async fn eject(&mut self, drive: &VirtualMedia) -> Result<(), Error> {
        if let Some(target) = target(drive.actions.eject.as_ref()) {
            self.act(&target, &json!({})).await?;
        } else {
            let empty = json!({ "Image": Value::Null, "Inserted": false });
            self.patch(&drive.path, &empty).await?;
        }
        self.await_drive(&drive.path, false).await
    }

    async fn await_drive(&mut self, path: &str, inserted: bool) -> Result<(), Error> {
        let pace = self.http.pace;
        for _ in 0..pace.looks(pace.change) {
            let drive: VirtualMedia = self.http.read(path).await?;
            // a drive without the field Inserted counts as done
            if drive.inserted.is_none_or(|is| is == inserted) {
                return Ok(());
            }
            tokio::time::sleep(pace.poll).await;
        }
        let (wanted, seen) = if inserted {
            ("the image", "an empty drive")
        } else {
            ("to eject the image", "that it is inserted")
        };
        Err(Error::NotReached {
            address: self.http.address(),
            wanted: wanted.into(),
            seen: seen.into(),
            seconds: pace.change.as_secs(),
        })
    }

    /// The virtual CD drive: some BMCs have it under the system, others under a manager.
    async fn drive(&mut self) -> Result<VirtualMedia, Error> {
        let (system, _) = self.read_system().await?;
        let mut places: Vec<Link> = system.virtual_media.iter().cloned().collect();
        for manager in self.managers(&system).await? {
            let manager: Manager = self.http.read(&manager.id).await?;
            places.extend(manager.virtual_media);
        }
        let mut drives = Vec::new();
        for place in places {
            let found: Collection = match self.http.read(&place.id).await {
                // linked, but it does not exist
                Err(Error::Refused { status: 404, .. }) => continue,
                result => result?,
            };
            let room = ITEMS - drives.len();
            for member in found.members.into_iter().take(room) {
                let mut drive: VirtualMedia = self.http.read(&member.id).await?;
                drive.path = member.id;
                drives.push(drive);
            }
        }
        let looked = |drive: &VirtualMedia| drive.path.clone();
        choose::drive(&drives)
            .cloned()
            .ok_or_else(|| Error::NoVirtualMedia {
                address: self.http.address(),
                looked: drives.iter().map(looked).collect::<Vec<_>>().join(", "),
            })
    }

    async fn managers(&mut self, system: &System) -> Result<Vec<Link>, Error> {
        if !system.links.managed_by.is_empty() {
            return Ok(system.links.managed_by.clone());
        }
        let Some(managers) = &self.root.managers else {
            return Ok(Vec::new());
        };
        let path = managers.id.clone();
        let all: Collection = self.http.read(&path).await?;
        Ok(all.members)
    }
}

fn target(action: Option<&ActionTarget>) -> Option<String> {
    action.and_then(|action| action.target.clone())
}
