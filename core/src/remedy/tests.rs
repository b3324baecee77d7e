//! Each command as it is pasted, and that names which are none stay out of all of them.

use super::*;
use crate::node::Marker;

const NS: &str = "ns";

/// All remedies for an object of this name.
fn all(name: &str) -> Vec<String> {
    let marker = Marker {
        cluster: name.into(),
        machine: name.into(),
        uid: name.into(),
        ..Marker::default()
    };
    vec![
        describe_machine(NS, name),
        logs(NS, name, Some("init")),
        delete_machine(NS, name),
        declare_gone(NS, name),
        conditions("host", NS, name),
        edit("host", NS, name),
        pause("host", NS, name),
        resume("host", NS, name),
        retry("host", NS, name),
        restart(NS, name),
        machine::delete(NS, name),
        machine::edit(NS, name),
        machine::edit_as_manager(NS, name),
        machine::manifest(NS, name),
        machine::events(NS, name),
        machine::mark(NS, name),
        machine::skip_drain(NS, name),
        machine::remove_hooks(NS, name, &["a/x", "b"]),
        machine::take_back_gone(NS, name),
        machine::remove_place(NS, name, "tatara.dev/host"),
        machine::set_host(NS, name, name),
        machine::set_hypervisor(NS, name, name),
        machine::set_cluster(NS, name, name),
        machine::add_cluster(NS, name),
        machine::set_provider_id(NS, name, "tatara://ssh/u"),
        machine::set_versions(NS, name, "v1.37.2", None),
        machine::limit_release(NS, name),
        host::of_machine(NS, name),
        host::message(NS, name),
        host::delete(NS, name),
        host::delete_at_once(NS, name),
        host::register_again(NS, name),
        host::claim(NS, name, &marker, false),
        host::set_cluster(NS, name, name),
        host::release(NS, name),
        host::wipe(NS, name),
        host::let_go(NS, name, 1),
        host::reinstall(NS, name),
        host::keep_system(NS, name),
        cluster::edit(NS, name),
        cluster::delete(NS, name),
        cluster::resolve(NS, name),
        cluster::made_by(NS, name, name),
        cluster::made_by_uid(NS, name, name),
        cluster::return_turn(NS, name),
        cluster::say_gone(NS, name, name),
        cluster::take_back_gone(NS, name),
        cluster::apply_settings(NS, name),
        hypervisor::delete(NS, name),
        hypervisor::remove_given_up(NS, name),
        hypervisor::delete_virtual_machine((NS, "hv"), name, "https://10.0.0.5:8774/", name),
        secret::put_back_authority(NS, name),
        secret::remove_kubeconfig(NS, name),
        secret::create_ssh_key(NS, name),
        secret::create_login(NS, name),
        secret::create_gateway(NS, name),
        workload::delete_node(NS, "c", name),
        workload::uncordon_node(NS, "c", name),
    ]
}

const EXPECTED: &str = r#"tatara describe machine x -n ns
tatara logs machine x -n ns --step init
kubectl -n ns delete machine x --wait=false
tatara machine declare-gone x -n ns
kubectl -n ns describe host x
kubectl edit host x -n ns
kubectl -n ns annotate host x cluster.k8s.io/paused=
kubectl -n ns annotate host x cluster.k8s.io/paused-
kubectl -n ns annotate --overwrite host x tatara.dev/retry="$(date +%s)"
tatara rollout restart x -n ns
kubectl -n ns delete machine x
kubectl -n ns edit machine x
kubectl -n ns edit --as=system:serviceaccount:tatara-system:tatara-manager machine x
kubectl -n ns get machine x -o yaml
kubectl -n ns events --for machine/x
kubectl -n ns annotate machine x cluster.k8s.io/delete-machine=
kubectl -n ns annotate machine x machine.cluster.k8s.io/exclude-node-draining=
kubectl -n ns annotate machine x a/x- b-
kubectl -n ns annotate machine x tatara.dev/host-is-gone-
kubectl -n ns annotate machine x tatara.dev/host-
kubectl -n ns annotate --overwrite machine x tatara.dev/host=x
kubectl -n ns annotate --overwrite --as=system:serviceaccount:tatara-system:tatara-manager machine x tatara.dev/hypervisor=x
kubectl -n ns label --overwrite --as=system:serviceaccount:tatara-system:tatara-manager machine x cluster.k8s.io/cluster-name=x
kubectl -n ns label --as=system:serviceaccount:tatara-system:tatara-manager machine x cluster.k8s.io/cluster-name=CLUSTER
kubectl -n ns patch machine x --as=system:serviceaccount:tatara-system:tatara-manager --type=merge -p '{"spec":{"providerID":"tatara://ssh/u"}}'
kubectl -n ns patch machine x --type=merge -p '{"spec":{"versions":{"kubelet":"v1.37.2"}}}'
kubectl -n ns patch machine x --type=merge -p '{"spec":{"deletion":{"hostReleaseTimeoutSeconds":60}}}'
kubectl -n ns get hosts -o custom-columns=HOST:.metadata.name,UID:.spec.consumerRef.uid,MESSAGE:.status.message | grep x
kubectl -n ns get host x -o jsonpath='{.status.message}'
kubectl -n ns delete host x
kubectl -n ns delete host x --wait=false
kubectl -n ns get host x -o json >x-before.json && jq '.metadata |= {name, namespace, labels: (.labels // {})} | del(.spec.consumerRef, .status)' x-before.json >x.json && kubectl -n ns delete host x && kubectl apply -f x.json
kubectl -n ns patch host x --type=merge -p '{"spec":{"consumerRef":{"name":"x","uid":"x","cluster":"x","releasing":false}}}'
kubectl -n ns patch host x --as=system:serviceaccount:tatara-system:tatara-manager --type=merge -p '{"spec":{"consumerRef":{"cluster":"x"}}}'
kubectl -n ns patch host x --type=merge -p '{"spec":{"consumerRef":{"releasing":true}}}'
kubectl -n ns patch host x --type=merge -p '{"spec":{"wipePolicy":"reset"}}'
kubectl -n ns patch host x --type=json -p '[{"op":"test","path":"/metadata/finalizers/1","value":"tatara.dev/in-use"},{"op":"remove","path":"/metadata/finalizers/1"}]'
kubectl -n ns annotate host x tatara.dev/reinstall=DISK
kubectl -n ns annotate host x tatara.dev/installation-
kubectl -n ns edit cluster x
kubectl -n ns delete cluster x
tatara cluster resolve x -n ns
tatara cluster resolve x -n ns --made-by x
tatara cluster resolve x -n ns --made-by-uid x
tatara cluster resolve x -n ns --return-turn
kubectl -n ns annotate cluster x tatara.dev/host-is-gone=x
kubectl -n ns annotate cluster x tatara.dev/host-is-gone-
kubectl -n ns annotate cluster x tatara.dev/settings-kept-
kubectl -n ns delete hypervisor x
kubectl -n ns annotate hypervisor x tatara.dev/given-up-
kubectl -n ns get secret x -o jsonpath='{.data.ca\.crt}' | base64 -d >hv-gateway-ca.crt && curl -f -X DELETE --cacert hv-gateway-ca.crt -H "Authorization: Bearer $(kubectl -n ns get secret x -o jsonpath='{.data.token}' | base64 -d)" https://10.0.0.5:8774/v1/machines/x
[ -s ca.crt ] && [ -s ca.key ] && kubectl -n ns patch secret x -p "{\"data\":{\"tls.crt\":\"$(base64 -w0 ca.crt)\",\"tls.key\":\"$(base64 -w0 ca.key)\"}}"
kubectl -n ns patch secret x --type=json -p '[{"op":"remove","path":"/data/value"}]'
kubectl -n ns create secret generic x --type=kubernetes.io/ssh-auth --from-file=ssh-privatekey=KEYFILE
kubectl -n ns create secret generic x --type=kubernetes.io/basic-auth --from-file=username=FILE --from-file=password=FILE
kubectl -n ns create secret generic x --type=tatara.dev/gateway --from-file=ca.crt=CAFILE --from-file=token=TOKENFILE
kubectl --kubeconfig <(tatara kubeconfig c -n ns) delete node x
kubectl --kubeconfig <(tatara kubeconfig c -n ns) uncordon x"#;

#[test]
fn each_command_is_as_it_is_pasted() {
    let (all, expected) = (all("x"), EXPECTED.lines());
    assert_eq!(all, expected.collect::<Vec<_>>());
}

#[test]
fn those_for_all_objects_of_a_kind_need_no_name() {
    for (command, expected) in [
        (host::all(NS), "kubectl -n ns get hosts"),
        (host::all_messages(NS), "kubectl -n ns get hosts -o wide"),
        (
            host::all_claims(NS),
            "kubectl -n ns get hosts -o custom-columns=HOST:.metadata.name,UID:.spec.consumerRef.uid",
        ),
        (
            machine::hosts_of_all(NS),
            r"kubectl -n ns get machines -o custom-columns='NAME:.metadata.name,UID:.metadata.uid,HOST:.metadata.annotations.tatara\.dev/host'",
        ),
    ] {
        assert_eq!(command, expected);
    }
}

#[test]
fn what_is_no_name_is_in_no_command() {
    for command in all("$(reboot)") {
        assert!(command.contains("NAME"), "{command}");
        assert!(!command.contains("reboot"), "{command}");
    }
}

#[test]
fn a_claim_of_no_cluster_names_none() {
    let marker = Marker {
        machine: "m".into(),
        uid: "u".into(),
        ..Marker::default()
    };
    let claim = host::claim(NS, "h", &marker, true);
    let expected = r#"{"name":"m","uid":"u","cluster":"","releasing":true}"#;
    assert!(claim.contains(expected), "{claim}");
}
