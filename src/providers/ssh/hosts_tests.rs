use super::*;
use crate::remote::sshd::Sshd;

/// A Host whose target is known, and what happens while its keys are read.
struct Reached<F = fn()>(Target, F);

impl Reached {
    fn quietly(target: Target) -> Self {
        Self(target, || ())
    }
}

impl<F: Fn() + Send + Sync> Server for Reached<F> {
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
        (self.1)();
        Ok(self.0.clone())
    }
}

#[tokio::test]
async fn what_comes_of_a_contact_with_a_host_that_was_deleted_meanwhile_is_not_kept() {
    let sshd = Sshd::closed().await;
    let hosts = Hosts::new(Arc::default(), Leader::default());
    let server = Reached::quietly(sshd.target());
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

#[tokio::test]
async fn a_connection_to_a_host_that_was_deleted_while_its_keys_were_read_is_not_kept() {
    let sshd = Sshd::closed().await;
    sshd.open();
    let hosts = Hosts::new(Arc::default(), Leader::default());
    let place = sshd.target().place();
    let deleted = Reached(sshd.target(), || hosts.forget_guest(&place));
    let kept = |session: Result<Arc<Session>, ContactError>| {
        // the pool has the other one
        Arc::strong_count(&session.expect("a session")) - 1
    };
    assert_eq!(kept(hosts.session(&deleted).await), 0);
    assert_eq!(hosts.memory.len(), 0);
    let exists = Reached::quietly(sshd.target());
    assert_eq!(kept(hosts.session(&exists).await), 1);
}
