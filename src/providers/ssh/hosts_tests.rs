use super::*;
use crate::remote::sshd::Sshd;

/// A Host whose target is known.
struct Reached(Target);

impl Server for Reached {
    fn namespace(&self) -> String {
        self.0.namespace.clone()
    }

    fn address(&self) -> &str {
        &self.0.hop.address
    }

    fn place(&self) -> Place {
        self.0.place()
    }

    fn credentials(&self) -> Vec<&str> {
        Vec::new()
    }

    fn host(&self) -> Option<String> {
        Some("h".into())
    }

    fn target(
        &self,
        _: &dyn Fn(&str) -> Result<Arc<Credential>, ContactError>,
    ) -> Result<Target, ContactError> {
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn what_comes_of_a_contact_with_a_host_that_was_deleted_meanwhile_is_not_kept() {
    let sshd = Sshd::closed().await;
    let hosts = Hosts::new(Arc::default());
    let server = Reached(sshd.target());
    let deleted = async {
        sshd.asked().await;
        hosts.forget_guest(&server.place());
        hosts.sightings.forget("default", "h");
        sshd.refuse();
    };
    let (seen, ()) = tokio::join!(hosts.observe(&server), deleted);
    assert_eq!(
        seen.map_err(|error| error.reason).err(),
        Some(Reason::AuthenticationFailed)
    );
    assert_eq!(hosts.memory.len(), 0);
    assert_eq!(hosts.sightings.get("default", "h"), None);
    // the next contact is one with a Host that exists
    assert!(hosts.observe(&server).await.is_err());
    assert_eq!(hosts.memory.len(), 1);
    assert!(hosts.sightings.get("default", "h").is_some());
}
