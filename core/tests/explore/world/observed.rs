//! A view as the planners have it: `Observed`, built by struct.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use tatara_core::Why;

use tatara_core::NodeView;
use tatara_core::api::conditions::Reason;
use tatara_core::api::{self, MachineProviderSpec};
use tatara_core::machine::plan::claim::{Chooser, choose};
use tatara_core::machine::{
    Contact, HostChoice, Infrastructure, Lookup, Namesake, Observed, Placement, Released, Stuck,
    Unheld, must_ask, must_ask_released, own_node,
};
use tatara_core::node::{Attempts, Follow, Identities, JobKind};

use super::build::{
    UIDS, address, at, host, host_name, machine, machine_name, marker, provider_spec,
    provider_value,
};
use super::scope::of_cluster;
use super::shown::{contact, node_view, node_views};
use super::state::MOST;
use super::view::{Read, View};

/// As in a manager one for all passes.
static IDENTITIES: LazyLock<Arc<Identities>> = LazyLock::new(Arc::default);

/// Everything that a pass over a Machine knows; its host is asked where that is due.
pub fn observed(view: &View) -> Observed {
    let which = view.which;
    let own = machine(which, &view.own);
    let claims = (0..MOST).filter(|host| view.claims & 1 << host != 0);
    let mut observed = Observed {
        marker: marker(which),
        cluster: Some(of_cluster(view, &own)),
        spec: Ok(provider_spec().clone()),
        resolved: Some(provider_value().clone()),
        placement: Placement::None(choice(view)),
        virtual_machine: None,
        whose: None,
        claiming: None,
        claims: claims.map(|host| host_name(host).to_owned()).collect(),
        chosen: None,
        namesake: None,
        contested: Vec::new(),
        node: node(view, &own),
        follow: view.follows[which].map(|kind| Follow {
            job: marker(which).job(kind),
            progress: None,
            since: at(0),
            retried: None,
        }),
        own_address: view.held.map(|host| address(host).into()),
        applied_address: None,
        last_look: view.looks[which],
        has_token: false,
        attempts: attempts(view),
        identities: Arc::clone(&IDENTITIES),
        started_at: at(0),
        paused_by: None,
        machine: own,
    };
    if let Some(held) = view.held {
        observed.placement = Placement::Held(infrastructure(view, held, &observed));
    }
    observed.chosen = chosen(view, &observed);
    own_node::check_name(&mut observed);
    if view.own.is_control_plane {
        observed.learn_look();
    }
    observed.namesake = namesake(view);
    observed
}

/// The host that it would claim.
fn choice(view: &View) -> Result<String, Why> {
    let MachineProviderSpec::Ssh(spec) = provider_spec() else {
        unreachable!("the Machines of the world are prepared over SSH")
    };
    let hosts = view.hosts.iter().enumerate();
    let hosts = hosts.filter(|(_, host)| host.exists);
    let hosts: Vec<_> = hosts.map(|(which, of)| host(which, of)).collect();
    let chooser = Chooser {
        cluster: "a",
        uid: UIDS[view.which],
        is_control_plane: view.own.is_control_plane,
    };
    choose(spec, &hosts, chooser, |_| None)
}

fn attempts(view: &View) -> BTreeMap<JobKind, Attempts> {
    let failed = view.backoff.map(|(kind, waits)| {
        let attempts = Attempts {
            failed: 1,
            since: Some(at(0)),
            last: waits.then(|| at(0)),
            error: None,
        };
        (kind, attempts)
    });
    failed.into_iter().collect()
}

fn infrastructure(view: &View, held: usize, observed: &Observed) -> Infrastructure {
    let object = &view.hosts[held];
    let releasing = object.claim.is_some_and(|(_, releasing)| releasing);
    let stuck = stuck(object).filter(|_| releasing);
    let asks = if releasing {
        let freed = [Reason::Freeing, Reason::LastControlPlane];
        let available = object.available;
        let released = Released {
            address: address(held),
            stuck,
            is_freed: available.is_some_and(|(_, why)| freed.contains(&why)),
        };
        must_ask_released(observed, released, at(0))
    } else {
        must_ask(observed)
    };
    let strange = object.available.filter(|(_, why)| why.is_of_strange_host());
    Infrastructure {
        name: host_name(held).into(),
        address: Some(address(held).into()),
        releasing,
        contact: match &view.server {
            Some((_, server)) if asks => contact(server, held),
            _ => Contact::NotAsked,
        },
        stuck,
        power: None,
        why: strange.map(|(_, why)| (why.as_str().into(), String::new())),
        strange: strange.map(|_| String::new()),
    }
}

/// As the provider reads it from the conditions of the Host.
fn stuck(host: &super::state::Host) -> Option<Stuck> {
    if host.reachable == Some(false) {
        return Some(Stuck::Silent(at(0)));
    }
    match host.available?.1 {
        Reason::ResetFailed | Reason::NotReset => Some(Stuck::ResetFails),
        Reason::WaitingForStep => Some(Stuck::Waits),
        Reason::Orphaned | Reason::Occupied => Some(Stuck::LeftAlone),
        _ => None,
    }
}

/// The Host that a Machine chose, where it does not have it.
fn chosen(view: &View, observed: &Observed) -> Option<HostChoice> {
    let marked = || {
        view.hosts.iter().position(|host| {
            host.exists
                && host
                    .orphan_of
                    .is_some_and(|of| usize::from(of) == view.which)
        })
    };
    let at = view.own.chosen.map(usize::from).or_else(marked)?;
    let object = &view.hosts[at];
    let ask = || match &view.server {
        Some((of, server)) if *of == at => contact(server, at),
        _ => Contact::NotAsked,
    };
    let is_free = || {
        let alone = [host(at, object)];
        let MachineProviderSpec::Ssh(spec) = provider_spec() else {
            return false;
        };
        let chooser = Chooser {
            cluster: "a",
            uid: UIDS[view.which],
            is_control_plane: view.own.is_control_plane,
        };
        !observed.is_deleting() && choose(spec, &alone, chooser, |_| None).is_ok()
    };
    let now = match (&observed.placement, object) {
        (Placement::Held(_), _) => Unheld::Held,
        (_, object) if !object.exists => Unheld::Missing,
        _ if is_free() => Unheld::Free,
        (_, object) => match object.claim {
            Some((by, _)) if usize::from(by) != view.which => {
                Unheld::Taken(machine_name(by.into()).into(), ask())
            }
            _ => Unheld::Asked(ask()),
        },
    };
    Some(HostChoice {
        host: host_name(at).into(),
        now,
    })
}

/// Its own Node.
fn node(view: &View, own: &api::Machine) -> Lookup<Option<Arc<NodeView>>> {
    match view.nodes_read {
        // without a control plane there is nothing to list; whether it is recorded is another matter
        _ if view.cluster.cluster.initialized.is_none() && view.nodes.is_empty() => {
            Lookup::Known(None)
        }
        Read::NotYet => Lookup::NotYet("the Nodes are not listed yet".into()),
        Read::Fails => Lookup::Unknown("the API does not answer".into()),
        Read::Known => {
            let id = format!("tatara://ssh/{}", UIDS[view.which]);
            let mut all = node_views(&view.nodes, view.ready);
            all.retain(|node| node.provider_id.as_ref() == Some(&id));
            Lookup::Known(own_node::choose(own, all).node)
        }
    }
}

/// A Node of another Machine that has the name of the one to come.
fn namesake(view: &View) -> Option<Namesake> {
    let held = view.held.filter(|_| view.nodes_read == Read::Known)?;
    let node = view.nodes[held].filter(|node| usize::from(node.of) != view.which)?;
    let marked = view
        .marked
        .iter()
        .position(|marker| *marker == Some(node.of));
    Some(Namesake {
        node: Arc::new(node_view(held, node, view.ready & 1 << held != 0)),
        is_left_over: view.others[usize::from(node.of)].is_none(),
        marked: marked.map(|host| host_name(host).to_owned()),
    })
}
