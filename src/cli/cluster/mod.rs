//! `tatara cluster`: what only a person can see of a Cluster.

mod error;
#[cfg(test)]
#[path = "fixture_tests.rs"]
mod fixture;
mod known;
mod objects;
mod outcome;
mod proof;
mod report;
mod resolve;
mod trouble;
mod wish;

use clap::Subcommand;
use kube::ResourceExt;

use self::known::Known;
use self::proof::Speaks;
use self::resolve::{Objection, closed, objection};
use self::trouble::trouble;
use self::wish::{Wish, needs_manager, next, with};
use super::caller::Caller;
use super::prompt::{Answer, ask_for_name, say};
use crate::clock;
use tatara_core::api::names::MANAGER_ACCOUNT;
use tatara_core::remedy;

pub use self::error::Error;

/// Exceeds the number of writes of every correction, and of the attempts at each.
const ATTEMPTS: usize = 8;

/// Arguments of `tatara cluster`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show how the records of a control plane contradict each other, and correct them
    ///
    /// Shows what Cluster and CA Secret record, what the manager last saw of each host, and what
    /// may be done, with what comes of it. Without one of --made-by, --made-by-uid and
    /// --return-turn it changes nothing, and exits with 0 only if nothing is to be resolved. Look
    /// first; then on the hosts that it names; then, for example: tatara cluster resolve CLUSTER
    /// --made-by MACHINE
    Resolve(Resolve),
}

#[derive(Debug, clap::Args)]
struct Resolve {
    /// Name of the Cluster
    #[arg(value_name = "CLUSTER")]
    name: String,
    /// Its namespace; by default that of the kubeconfig's context
    #[arg(short, long)]
    namespace: Option<String>,
    #[command(flatten)]
    wish: Wished,
    /// Do not ask for the name of the Cluster; what speaks against it still needs --force
    #[arg(short, long, requires = "Wished")]
    yes: bool,
    /// Correct them although something speaks against it: only after you have looked at each host
    /// that it names. What is refused outright stays refused
    #[arg(long, requires = "Wished")]
    force: bool,
}

#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Wished {
    /// Record on both that this Machine ran kubeadm init, and has the control plane
    #[arg(long, value_name = "MACHINE")]
    made_by: Option<String>,
    /// The same of the Machine of this UID, also of one that does not exist any more
    #[arg(long, value_name = "UID")]
    made_by_uid: Option<String>,
    /// Remove a control-plane turn that cannot be read
    #[arg(long)]
    return_turn: bool,
}

impl Args {
    /// Runs the sub-command.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub async fn run(&self) -> Result<(), Error> {
        let Command::Resolve(args) = &self.command;
        args.run().await
    }
}

impl Wished {
    /// What is wished, by what is known.
    fn wish(&self, known: &Known) -> Result<Option<Wish>, Error> {
        if let Some(name) = &self.made_by {
            let mut machines = known.machines.iter();
            let machine = machines.find(|machine| machine.name_any() == *name);
            let uid = machine.and_then(ResourceExt::uid);
            let uid = uid.ok_or_else(|| Error::NoMachine {
                namespace: known.namespace().to_owned(),
                name: name.clone(),
            })?;
            return Ok(Some(Wish::MadeBy(uid)));
        }
        if let Some(uid) = &self.made_by_uid {
            if !is_uid(uid) {
                return Err(Error::NoUid { text: uid.clone() });
            }
            return Ok(Some(Wish::MadeBy(uid.clone())));
        }
        Ok(self.return_turn.then_some(Wish::ReturnUnreadable))
    }
}

/// Whether admission takes it for the UID of an object.
fn is_uid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &&str| {
        let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        part.chars().all(is_digit)
    };
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(is_hex)
}

impl Resolve {
    async fn run(&self) -> Result<(), Error> {
        let caller = Caller::from_environment(self.namespace.as_deref()).await?;
        let known = objects::read(&caller, &self.name).await?;
        match self.wish.wish(&known)? {
            Some(wish) => self.resolve(&caller, &known, &wish).await,
            None => self.show(&known),
        }
    }

    /// Shows all, and changes nothing.
    fn show(&self, known: &Known) -> Result<(), Error> {
        for line in report::all(known, clock::now()) {
            say(&line)?;
        }
        let name = self.name.clone();
        if let Some(why) = closed(known) {
            return Err(Error::Refused { name, why });
        }
        if trouble(known).is_some() {
            return Err(Error::InDoubt { name });
        }
        let describe = remedy::describe_cluster(known.namespace(), known.name());
        say(&format!(
            "Nothing is to be resolved. What it waits for: {describe}"
        ))?;
        Ok(())
    }

    async fn resolve(&self, caller: &Caller, known: &Known, wish: &Wish) -> Result<(), Error> {
        let overruled = self.judge(known, wish)?;
        for speaks in &overruled {
            say(&format!("Overruled by --force: {}.", speaks.why))?;
            say(&format!("Go on only if {}.", speaks.only_if))?;
        }
        let (namespace, name) = (known.namespace(), known.name());
        say(&format!(
            "The records of Cluster {namespace}/{name} on {} are to be corrected. What comes of it:",
            caller.server
        ))?;
        for what in outcome::consequences(known, wish) {
            say(&format!("- {what}."))?;
        }
        if !self.yes {
            self.ask()?;
        }
        self.write(caller, known, wish, &overruled).await?;
        say(&format!(
            "Written. The manager goes on from here: {}",
            remedy::describe_cluster(namespace, name)
        ))?;
        Ok(())
    }

    /// What speaks against it, and is overruled.
    fn judge(&self, known: &Known, wish: &Wish) -> Result<Vec<Speaks>, Error> {
        let name = self.name.clone();
        match objection(known, wish) {
            Some(Objection::Refused(why)) => Err(Error::Refused { name, why }),
            Some(Objection::Shown(all)) if !self.force => Err(Error::Shown { name, all }),
            Some(Objection::Shown(all)) => Ok(all),
            None => Ok(Vec::new()),
        }
    }

    /// Has the name typed by who runs the command.
    fn ask(&self) -> Result<(), Error> {
        match ask_for_name("Type the name of the Cluster: ", &self.name)? {
            Answer::Meant => Ok(()),
            Answer::Other => Err(Error::NotConfirmed),
            Answer::NoTerminal => Err(Error::NotAsked),
        }
    }

    /// Reads all again before each write, and goes on only while it is as was told, and as the
    /// write before left it.
    async fn write(
        &self,
        caller: &Caller,
        known: &Known,
        wish: &Wish,
        overruled: &[Speaks],
    ) -> Result<(), Error> {
        let mut expected = known.marks();
        let mut written = 0;
        let manager =
            needs_manager(&expected, wish).then(|| caller.in_the_name_of(MANAGER_ACCOUNT));
        let manager = manager.transpose()?;
        let writer = manager.as_ref().unwrap_or(caller);
        for _ in 0..ATTEMPTS {
            let half = |error| Self::half_written(written, known, error);
            let now = objects::read(caller, &self.name).await.map_err(half)?;
            let both = now.marks();
            let step = next(&both, wish);
            // the manager goes on as soon as both are written
            if written > 0 && step.is_none() {
                return Ok(());
            }
            let is_told = written > 0 || self.judge(&now, wish)? == overruled;
            let is_same = now.uids() == known.uids();
            let Some((side, to)) = step.filter(|_| is_told && is_same && both == expected) else {
                break;
            };
            let done = objects::write(writer, &now, side, &to).await;
            if done.map_err(half)? {
                written += 1;
                expected = with(&both, side, to);
            }
        }
        Err(Error::Conflict {
            name: self.name.clone(),
            written,
            again: remedy::cluster::resolve(known.namespace(), known.name()),
        })
    }

    /// What a failure after the first of two writes says beside its cause.
    fn half_written(written: usize, known: &Known, error: Error) -> Error {
        if written == 0 {
            return error;
        }
        Error::HalfWritten {
            source: Box::new(error),
            again: remedy::cluster::resolve(known.namespace(), known.name()),
        }
    }
}
