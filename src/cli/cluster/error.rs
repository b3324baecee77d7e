//! Why the records of a Cluster are not corrected.

use super::super::caller::ApiError;
use super::proof::Speaks;
use tatara_core::api::names::MANAGER_ACCOUNT;

/// Why the records of a Cluster are not corrected.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request to the management cluster failed.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The Cluster does not exist.
    #[error(
        "Cluster {namespace}/{name} does not exist; list them: kubectl -n {namespace} get clusters"
    )]
    NotFound {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// No Machine has this name.
    #[error(
        "Machine {namespace}/{name} does not exist; list them: kubectl -n {namespace} get machines. Of one that does not exist any more, give the UID: --made-by-uid UID"
    )]
    NoMachine {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// That is no UID.
    #[error(
        "{text:?} is no UID; take that of the Machine from the table of tatara cluster resolve, or from /var/lib/tatara/owner.json on its host"
    )]
    NoUid {
        /// What was given.
        text: String,
    },
    /// The records are in doubt, and nothing was asked for.
    #[error(
        "Cluster {name} is in doubt, and nothing was changed; look at the hosts, and do what the text above says"
    )]
    InDoubt {
        /// Its name.
        name: String,
    },
    /// It would be wrong, or change nothing.
    #[error("Cluster {name} is not changed: {why}")]
    Refused {
        /// Its name.
        name: String,
        /// Why.
        why: String,
    },
    /// Something speaks against it.
    #[error("Cluster {name} is not changed: {}", spoken(all))]
    Shown {
        /// Its name.
        name: String,
        /// What.
        all: Vec<Speaks>,
    },
    /// Nobody can be asked.
    #[error(
        "nobody can be asked, as standard input is no terminal, and nothing was changed; read the above, then add --yes"
    )]
    NotAsked,
    /// The answer was another.
    #[error("that is not the name of the Cluster; nothing was changed")]
    NotConfirmed,
    /// It was changed meanwhile.
    #[error(
        "Cluster {name}, its CA Secret, or what is known of its Machines and Hosts was changed meanwhile, and {}; see what there is now, and repeat the command if it still fits: {again}",
        if *.written == 0 { "nothing was written" } else { "one of Cluster and CA Secret was written, the other was not" }
    )]
    Conflict {
        /// Its name.
        name: String,
        /// How many of the two were written.
        written: usize,
        /// The command that shows it.
        again: String,
    },
    /// The second of two writes failed.
    #[error(
        "one of Cluster and CA Secret was written already, the other was not: {source}. Run the same command again, or look first: {again}"
    )]
    HalfWritten {
        /// Why the other was not.
        source: Box<Error>,
        /// The command that shows what there is now.
        again: String,
    },
    /// The caller may not act as the manager.
    #[error(
        "you may not act as {MANAGER_ACCOUNT}, and admission lets no other account change what is recorded (verb impersonate on serviceaccounts/{account} in namespace {home}); ask an administrator to run this command, or to allow it to you for as long as it takes, which is to allow all that the manager may: \
         kubectl -n {home} create role act-as-manager --verb=impersonate --resource=serviceaccounts --resource-name={account} && kubectl -n {home} create rolebinding NAME --role=act-as-manager --user=YOU; afterwards: kubectl -n {home} delete rolebinding NAME ({said})"
    )]
    Impersonation {
        /// Namespace of the manager's account.
        home: String,
        /// Its name.
        account: String,
        /// Message of the API server.
        said: String,
    },
    /// The caller may not change it.
    #[error(
        "you may not change {object}; ask an administrator to run: kubectl -n {namespace} create rolebinding NAME --clusterrole=edit --user=YOU ({said})"
    )]
    Forbidden {
        /// Their namespace.
        namespace: String,
        /// Kind and name.
        object: String,
        /// Message of the API server.
        said: String,
    },
    /// The API server refuses it.
    #[error("failed to change {object}: {said}")]
    Rejected {
        /// Kind and name.
        object: String,
        /// Message of the API server.
        said: String,
    },
    /// The terminal cannot be read or written.
    #[error("failed to use the terminal")]
    Terminal(#[from] std::io::Error),
}

/// What speaks against it, and what one has to have seen who does it all the same.
fn spoken(all: &[Speaks]) -> String {
    let why: Vec<&str> = all.iter().map(|speaks| speaks.why.as_str()).collect();
    let only_if: Vec<&str> = all.iter().map(|speaks| speaks.only_if.as_str()).collect();
    format!(
        "{}. Only if {}: add --force",
        why.join("; and "),
        only_if.join("; and ")
    )
}
