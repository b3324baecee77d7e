//! What a pass over a Machine, or over a Host, knows.

use super::*;
use crate::api::conditions::Reason;

impl World {
    pub(super) fn new() -> Self {
        let mut now = Objects::default();
        for host in &mut now.hosts {
            host.exists = true;
            host.available = true;
        }
        Self {
            known: std::array::from_fn(|_| now.clone()),
            now,
            backup: None,
            servers: Default::default(),
            away: None,
        }
    }

    pub(super) fn contact(&self, server: Which) -> Contact {
        if self.servers[server].silent {
            return Contact::Unreachable {
                reason: Reason::SshUnreachable,
                message: "no answer".into(),
            };
        }
        says(self.servers[server].says())
    }

    /// The Node of a Machine: there once a server of it joined, and until it is deleted.
    pub(super) fn has_node(&self, machine: Which) -> bool {
        self.now.made_by.is_some() && self.servers.iter().any(|server| server.runs(machine))
    }

    pub(super) fn machine(&self, which: Which) -> Observed {
        let known = &self.known[which];
        let object = &known.machines[which];
        let is_control_plane = which < 2 && !object.stripped;
        let mut observed = observed(is_control_plane);
        observed.marker = marker_of(which);
        let mut machine = machine(&observed.marker.machine, UIDS[which], is_control_plane);
        let annotations = machine.metadata.annotations.get_or_insert_default();
        if let Some(host) = object.chosen {
            annotations.insert(ANNOTATION_HOST.into(), HOSTS[host].into());
        }
        if object.settings {
            annotations.insert(ANNOTATION_SETTINGS.into(), "{}".into());
        }
        observed.machine = Arc::new(machine);
        if object.node_ref {
            observed = had_node(observed);
        }
        if object.deleted {
            observed = deleted(observed, at(0));
        }
        observed = with_cluster(observed, |cluster| {
            cluster.turn = known.turn.map(|turn| turn_of(UIDS[turn]));
            cluster.initialized_by = known.made_by.map(|by| UIDS[by].to_owned());
        });
        if self.has_node(which) {
            let mut node = node();
            node.annotations.insert(
                "cluster.k8s.io/machine".into(),
                format!("default/m-{which}"),
            );
            observed.node = Lookup::Known(Some(Arc::new(node)));
        }
        self.placed(which, observed)
    }

    pub(super) fn placed(&self, which: Which, mut observed: Observed) -> Observed {
        let known = &self.known[which];
        let claims: Vec<Which> = (0..HOSTS.len())
            .filter(|host| known.hosts[*host].exists)
            .filter(|host| {
                known.hosts[*host]
                    .claim
                    .is_some_and(|(machine, _)| machine == which)
            })
            .collect();
        let free = (0..HOSTS.len()).find(|host| {
            let host = &known.hosts[*host];
            host.exists && host.claim.is_none() && host.available
        });
        let refused = Why::new(Reason::NoHostAvailable, "none is free");
        observed.placement =
            Placement::None(free.map(|host| HOSTS[host].to_owned()).ok_or(refused));
        if let [host] = claims.as_slice() {
            let releasing = known.hosts[*host]
                .claim
                .is_some_and(|(_, releasing)| releasing);
            let deleted = known.machines[which].deleted;
            let asks = if releasing {
                known.hosts[*host].freeing
            } else {
                !deleted && !self.has_node(which)
            };
            observed.placement = held(if asks {
                self.contact(*host)
            } else {
                Contact::NotAsked
            });
            if let Placement::Held(held) = &mut observed.placement {
                held.releasing = releasing;
                held.name = HOSTS[*host].into();
            }
        }
        observed.claims = claims.iter().map(|host| HOSTS[*host].to_owned()).collect();
        same_preparation(&mut observed);
        let marked = || {
            known
                .hosts
                .iter()
                .position(|host| host.orphan_of == Some(which))
        };
        observed.chosen = known.machines[which]
            .chosen
            .or_else(marked)
            .map(|host| HostChoice {
                host: HOSTS[host].into(),
                now: match (&observed.placement, &known.hosts[host]) {
                    (Placement::Held(_), _) => Unheld::Held,
                    (_, object) if !object.exists => Unheld::Missing,
                    (_, object)
                        if object.claim.is_none()
                            && object.available
                            && !known.machines[which].deleted =>
                    {
                        Unheld::Free
                    }
                    _ => Unheld::Asked(self.contact(host)),
                },
            });
        observed
    }

    pub(super) fn host(&self, which: Which) -> host::Observed {
        let known = &self.known[UIDS.len() + which];
        let object = &known.hosts[which];
        let mut manifest = json!({
            "apiVersion": "tatara.dev/v1alpha1",
            "kind": "Host",
            "metadata": { "name": HOSTS[which], "namespace": "default", "uid": HOSTS[which] },
            "spec": { "ssh": { "address": HOSTS[which], "credentialsRef": { "name": "key" } } },
        });
        if let Some(claim) = object.claim {
            manifest["spec"]["consumerRef"] = consumer_ref(claim);
        }
        let host: Host = serde_json::from_value(manifest).expect("a Host");
        let rivals = (0..HOSTS.len()).filter(|other| {
            let other_host = &known.hosts[*other];
            let claim = |host: &HostObject| host.claim.map(|(machine, _)| machine);
            *other != which
                && other_host.exists
                && claim(object).is_some()
                && claim(other_host) == claim(object)
        });
        let contact = match self.contact(which) {
            Contact::Seen(seen) => host::Contact::Seen(seen),
            _ => host::Contact::Failed(crate::host::ContactError {
                reason: Reason::SshUnreachable,
                message: "no answer".into(),
                transient: true,
            }),
        };
        let consumer = object.claim.map_or(Consumer::Missing, |(machine, _)| {
            let of = &known.machines[machine];
            let recorded = known.turn == Some(machine) || known.made_by == Some(machine);
            if of.gone {
                return Consumer::Missing;
            }
            Consumer::Exists {
                is_deleting: of.deleted,
                is_begun: of.settings || of.node_ref || recorded || self.has_node(machine),
            }
        });
        let server = &self.servers[which];
        let guards = server.marker.filter(|machine| {
            let by = known.made_by;
            let is_over = consumer == Consumer::Missing && object.claim == Some((*machine, true));
            server.initialized && !is_over && by.is_none_or(|by| by == *machine)
        });
        let claimed_by = object.claim.map(|(machine, _)| machine);
        let recorded = claimed_by.filter(|machine| known.made_by == Some(*machine));
        host::Observed {
            host: Arc::new(host),
            management: "management".into(),
            duplicates: crate::host::DuplicateHosts::default(),
            contact,
            bmc: None,
            is_missed: false,
            has_its_marker: false,
            heard_at: None,
            first_contact_keys: Vec::new(),
            following: None,
            owner: host::Owner::Unknown,
            consumer,
            rivals: rivals.map(|other| HOSTS[other].to_owned()).collect(),
            marked_rival: None,
            guards: guards.or(recorded).map(|_| "a".into()),
            may_guard: None,
            stands_in: None,
            unrecorded: None,
            cluster_goes: false,
            attempts: Attempts::default(),
            has_media: false,
            installation: None,
        }
    }

    /// The Host of another namespace, where neither the Machine nor the Cluster is; their UIDs are
    /// the same.
    pub(super) fn away(&self, server: Which, claim: Claim) -> host::Observed {
        let mut observed = self.host(server);
        let host = Arc::make_mut(&mut observed.host);
        host.metadata.namespace = Some("other".into());
        let claim = serde_json::from_value(consumer_ref(claim)).expect("a claim");
        host.spec.consumer_ref = Some(claim);
        observed.consumer = Consumer::Missing;
        observed.rivals = Vec::new();
        observed
    }
}
