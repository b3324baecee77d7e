//! The members of a control plane's etcd, read live.

use std::sync::Arc;

use futures::future::join_all;
use k8s_openapi::jiff::SignedDuration;
use kube::ResourceExt;

use super::ControlPlanes;
use super::etcd_endpoint::EtcdEndpoint;
use crate::etcd::{self, Etcd, Status};
use crate::store::Key;
use tatara_core::api::Cluster;
use tatara_core::control_plane::peers::Connections;
use tatara_core::control_plane::{MemberHealth, MemberId, Members, quorum};

/// A list this old is still what is read now: the turn is returned on it, which removes and stops
/// nothing.
const JUST_NOW: SignedDuration = SignedDuration::from_secs(1);

/// Why a change of the members was not made: nobody could be asked for it, or all refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silence(pub String);

/// Why no list of the members can be read. That proves nothing about them.
struct Unread {
    /// What each machine answers.
    why: String,
    /// The Machines whose member serves and knows no leader, where no other one does: the quorum is
    /// lost.
    leaderless: Vec<String>,
}

impl ControlPlanes {
    /// The members, from a list that the quorum confirms, with the health of each; remembers what
    /// was read. News wakes the control-plane Machines, which wait for it.
    ///
    /// # Errors
    /// No machine of the control plane gives such a list: what each answers.
    pub async fn look(&self, cluster: &Cluster) -> Result<Arc<Members>, String> {
        let (read, leaderless) = match self.seats(cluster).await {
            Ok(seats) => match self.members_of(&seats).await {
                Ok(members) => (Ok(Arc::new(members)), Vec::new()),
                Err(Unread { why, leaderless }) => (Err(why), leaderless),
            },
            Err(why) => (Err(why), Vec::new()),
        };
        let uid = cluster.uid().unwrap_or_default();
        let before = self.workloads.known.get(&uid).etcd;
        let is_news = before.is_none_or(|(before, _)| before != read);
        let now = crate::clock::now();
        self.workloads.known.update(&uid, |known| {
            known.etcd = Some((read.clone(), now));
            known.etcd_leaderless = leaderless;
            match read.as_ref().ok().filter(|members| members.is_well()) {
                Some(members) => {
                    known.etcd_well = Some(members.clone());
                    known.etcd_troubled = None;
                }
                None => {
                    known.etcd_troubled.get_or_insert(now);
                }
            }
        });
        if is_news {
            let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
            self.base.wakers.planners.wake(&namespace, &name);
            let key = Key::ControlPlane(namespace, name);
            for machine in self.base.stores().machines.by(&key) {
                self.base.wakers.machines.wake_object(&machine);
            }
        }
        read
    }

    /// What was read within the last second, by another action of the same pass; else
    /// [`Self::look`].
    ///
    /// # Errors
    /// Those of [`Self::look`].
    pub async fn look_once(&self, cluster: &Cluster) -> Result<Arc<Members>, String> {
        let known = self.workloads.known.get(&cluster.uid().unwrap_or_default());
        let (read, at) = known.etcd.unzip();
        let is_fresh = at.is_some_and(|at| crate::clock::now().duration_since(at).abs() < JUST_NOW);
        match read.filter(|_| is_fresh) {
            Some(Ok(members)) => Ok(members),
            _ => self.look(cluster).await,
        }
    }

    /// Removes one of these members. `Ok(false)`: etcd is not ready for that now.
    ///
    /// # Errors
    /// [`Silence`]: no other member could be asked for it, or all refuse.
    pub async fn remove(
        &self,
        cluster: &Cluster,
        members: &Members,
        id: MemberId,
    ) -> Result<bool, Silence> {
        let seats = self.seats(cluster).await.map_err(Silence)?;
        let leaving = members.get(id);
        let mut refusals = Vec::new();
        // a member that is to leave does not have to answer, and would be gone with the answer
        let others = seats
            .iter()
            .filter(|seat| leaving.is_none_or(|leaving| !leaving.is_at(&seat.address)));
        for seat in others {
            let Ok(etcd) = &seat.etcd else { continue };
            match etcd.remove(id).await {
                Ok(()) => return Ok(true),
                Err(error) if error.is_not_found() => return Ok(true),
                Err(error) if error.is_wait() => return Ok(false),
                Err(error) => refusals.push(said(seat, &error)),
            }
        }
        Err(Silence(refusals.join("; ")))
    }

    /// Makes another member the leader, if this one is.
    ///
    /// # Errors
    /// [`Silence`]: the leader could not be asked for it, or refuses.
    pub async fn hand_over(
        &self,
        cluster: &Cluster,
        members: &Members,
        from: MemberId,
    ) -> Result<(), Silence> {
        let successor = quorum::successor(members, from).map_err(Silence)?;
        let (Some(leaving), Some(to)) = (members.get(from), successor) else {
            return Ok(());
        };
        let seats = self.seats(cluster).await.map_err(Silence)?;
        let Some(seat) = seats.iter().find(|seat| leaving.is_at(&seat.address)) else {
            return Ok(());
        };
        // a leader that does not answer is replaced by the others
        let Ok(etcd) = &seat.etcd else { return Ok(()) };
        match etcd.transfer_leadership(to).await {
            Ok(()) | Err(etcd::Error::Unreached(_)) => Ok(()),
            Err(error) => Err(Silence(said(seat, &error))),
        }
    }

    /// What each member on a machine of ours counts of the others.
    pub async fn connections(&self, cluster: &Cluster, members: &Members) -> Connections {
        let seats = self.seats(cluster).await.unwrap_or_default();
        let asked = seats.iter().filter_map(|seat| {
            let member = members.at(&seat.address)?;
            Some(async move {
                let said = match &seat.etcd {
                    Ok(etcd) => etcd.peers().await.map_err(|error| said(seat, &error)),
                    Err(why) => Err(format!("{}: {why}", seat.machine)),
                };
                (member.id, said)
            })
        });
        join_all(asked).await.into_iter().collect()
    }

    async fn members_of(&self, seats: &[EtcdEndpoint]) -> Result<Members, Unread> {
        let statuses = join_all(seats.iter().map(status)).await;
        let mut silences = Vec::new();
        for (seat, status) in seats.iter().zip(&statuses) {
            let (Ok(etcd), Ok(_)) = (&seat.etcd, status) else {
                silences.extend(status.as_ref().err().cloned());
                continue;
            };
            match list(etcd).await {
                Ok(members) => return Ok(with_health(members, seats, &statuses)),
                Err(error) => silences.push(said(seat, &error)),
            }
        }
        if silences.is_empty() {
            silences.push("no control-plane Machine of it has a server".into());
        }
        Err(Unread {
            why: silences.join("; "),
            leaderless: leaderless(seats, &statuses),
        })
    }
}

/// The Machines whose member answers and knows no leader; none where one knows a leader.
fn leaderless(seats: &[EtcdEndpoint], statuses: &[Result<Status, String>]) -> Vec<String> {
    let answers = || statuses.iter().flatten();
    if answers().any(|status| status.leader.is_some()) {
        return Vec::new();
    }
    let all = seats.iter().zip(statuses);
    let serve = all.filter(|(_, status)| status.is_ok());
    serve.map(|(seat, _)| seat.machine.clone()).collect()
}

/// A list that the quorum confirms, and the alarms.
async fn list(etcd: &Etcd) -> Result<Members, etcd::Error> {
    let list = etcd.members().await?;
    let alarms = etcd.alarms().await?;
    Ok(Members {
        list,
        alarms: alarms.into_iter().map(|a| (a.member, a.alarm)).collect(),
        ..Members::default()
    })
}

async fn status(seat: &EtcdEndpoint) -> Result<Status, String> {
    let etcd = seat.etcd.as_ref();
    let etcd = etcd.map_err(|error| format!("{}: {error}", seat.machine))?;
    etcd.status().await.map_err(|error| said(seat, &error))
}

fn said(seat: &EtcdEndpoint, error: &etcd::Error) -> String {
    format!("{}: {error}", seat.machine)
}

fn with_health(
    mut members: Members,
    seats: &[EtcdEndpoint],
    statuses: &[Result<Status, String>],
) -> Members {
    members.leader = statuses
        .iter()
        .find_map(|status| status.as_ref().ok()?.leader);
    for (seat, status) in seats.iter().zip(statuses) {
        let Some(member) = members.list.iter().find(|m| m.is_at(&seat.address)) else {
            continue;
        };
        let health = match status {
            // another etcd, of an earlier life of this machine
            Ok(status) if status.id != member.id => {
                MemberHealth::Unhealthy(format!("{} runs member {}", seat.machine, status.id))
            }
            Ok(status) if status.leader.is_none() => {
                MemberHealth::Unhealthy("it knows no leader".into())
            }
            Ok(_) => MemberHealth::Healthy,
            Err(why) => MemberHealth::Unhealthy(why.clone()),
        };
        members.health.insert(member.id, health);
    }
    members
}
