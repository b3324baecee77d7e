//! The install manifests on a real API server: what the manager and what people may do with them.

use serde_json::Value;

use crate::support::kubectl::{installed, repository};

const MANAGER: &str = "system:serviceaccount:tatara-system:tatara-manager";

/// Whether `who` may do this: "VERB RESOURCE" and further arguments.
fn may(who: &str, what: &str) -> bool {
    let mut arguments = vec!["can-i", "--as", who];
    arguments.extend(what.split(' '));
    let said = installed().run("auth", &arguments);
    match said.out.trim() {
        "yes" => true,
        "no" => false,
        _ => panic!("{what}: {}", said.err),
    }
}

#[test]
#[ignore = "needs a management plane"]
fn the_manager_may_do_its_work() {
    for what in [
        "patch clusters.cluster.k8s.io -A",
        "patch clusters.cluster.k8s.io -A --subresource=status",
        "patch machines.cluster.k8s.io -A --subresource=status",
        "create machines.cluster.k8s.io -A",
        "delete machines.cluster.k8s.io -A",
        "create machinesets.cluster.k8s.io -A",
        "delete machinesets.cluster.k8s.io -A",
        "patch machinesets.cluster.k8s.io -A --subresource=status",
        "patch machinedeployments.cluster.k8s.io -A --subresource=status",
        "watch machineclasses.cluster.k8s.io -A",
        "patch machineclasses.cluster.k8s.io -A",
        "patch hosts.tatara.dev -A",
        "patch hosts.tatara.dev -A --subresource=status",
        "create clusterprofiles.multicluster.x-k8s.io -A",
        "patch clusterprofiles.multicluster.x-k8s.io -A --subresource=status",
        "delete clusterprofiles.multicluster.x-k8s.io -A",
        "create secrets -A",
        "watch secrets -A",
        "get configmaps -A",
        "create events.events.k8s.io -A",
        "create leases.coordination.k8s.io -n tatara-system",
        "update leases.coordination.k8s.io/tatara -n tatara-system",
        "watch leases.coordination.k8s.io/tatara -n tatara-system",
        "get customresourcedefinitions.apiextensions.k8s.io/machines.cluster.k8s.io",
        "get namespaces/kube-system",
    ] {
        assert!(may(MANAGER, what), "{what}");
    }
}

#[test]
#[ignore = "needs a management plane"]
fn the_manager_may_do_nothing_else() {
    for what in [
        "* *",
        "delete namespaces",
        "list namespaces",
        "get namespaces/default",
        "list pods -A",
        "create pods -A",
        "list nodes",
        "delete secrets -A",
        "update secrets -A",
        "list configmaps -A",
        "create clusters.cluster.k8s.io -A",
        "delete clusters.cluster.k8s.io -A",
        "delete hosts.tatara.dev -A",
        "create hosts.tatara.dev -A",
        "create machinedeployments.cluster.k8s.io -A",
        "delete machineclasses.cluster.k8s.io -A",
        "create leases.coordination.k8s.io -n default",
        "update leases.coordination.k8s.io/other -n tatara-system",
        "delete leases.coordination.k8s.io/tatara -n tatara-system",
        "create clusterroles.rbac.authorization.k8s.io",
        "bind clusterroles.rbac.authorization.k8s.io",
        "escalate clusterroles.rbac.authorization.k8s.io",
        "impersonate users",
        "create serviceaccounts -n tatara-system --subresource=token",
        "patch customresourcedefinitions.apiextensions.k8s.io",
        "create customresourcedefinitions.apiextensions.k8s.io",
        "delete customresourcedefinitions.apiextensions.k8s.io",
        "patch validatingadmissionpolicies.admissionregistration.k8s.io",
        "get customresourcedefinitions.apiextensions.k8s.io/others.example.com",
    ] {
        assert!(!may(MANAGER, what), "{what}");
    }
}

/// Every document of the install manifests.
fn documents() -> Vec<Value> {
    let files = std::fs::read_dir(repository("templates/install")).expect("templates/install");
    let files = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.is_file());
    let texts = files.map(|path| std::fs::read_to_string(path).expect("text"));
    texts
        .flat_map(|text| serde_saphyr::from_multiple::<Value>(&text).expect("YAML"))
        .collect()
}

#[test]
#[ignore = "needs a management plane"]
fn no_role_has_a_wildcard_and_every_role_is_bound_to_the_manager_alone() {
    let plane = installed();
    for role in documents()
        .iter()
        .filter(|d| d["kind"] == "ClusterRole" || d["kind"] == "Role")
    {
        assert!(
            !role["rules"].to_string().contains('*'),
            "{}",
            role["metadata"]["name"]
        );
    }
    let bindings = plane
        .run(
            "get",
            &[
                "clusterrolebindings",
                "-l",
                "app.kubernetes.io/name=tatara",
                "-o",
                "json",
            ],
        )
        .json();
    let bindings = bindings["items"].as_array().expect("a list").clone();
    let roles = documents()
        .iter()
        .filter(|d| d["kind"] == "ClusterRole")
        .count();
    let for_people = ["tatara-view", "tatara-edit", "tatara-admin"].len();
    assert_eq!(bindings.len(), roles - for_people);
    for binding in bindings {
        let subjects = binding["subjects"].as_array().expect("a list").clone();
        assert_eq!(subjects.len(), 1);
        assert_eq!(subjects[0]["name"], "tatara-manager");
        assert_eq!(subjects[0]["namespace"], "tatara-system");
    }
}

/// What the policies let the manager alone do is asked by the name of its account.
#[test]
fn the_policies_name_the_account_that_the_roles_are_given_to() {
    let policies = std::fs::read_to_string(repository("templates/install/30-admission.yaml"));
    let policies = policies.expect("30-admission.yaml");
    let named: Vec<_> = policies.split("'system:serviceaccount:").skip(1).collect();
    assert!(!named.is_empty());
    let account = MANAGER.trim_start_matches("system:serviceaccount:");
    for name in named {
        assert_eq!(name.split('\'').next(), Some(account));
    }
}

#[test]
#[ignore = "needs a management plane"]
fn people_get_their_rights_through_view_edit_and_admin() {
    let plane = installed();
    plane.namespace("people");
    for role in ["view", "edit", "admin"] {
        let (role, user) = (format!("--clusterrole={role}"), format!("--user={role}er"));
        plane
            .run(
                "create",
                &["rolebinding", &user[7..], "-n", "people", &role, &user],
            )
            .out();
    }
    let may = |who: &str, what: &str| may(who, &format!("{what} -n people"));
    // Aggregation is a controller's work, which takes a moment.
    plane.until("aggregation", |_| may("adminer", "create hosts.tatara.dev"));
    for (what, view, edit, admin) in [
        ("get clusters.cluster.k8s.io", true, true, true),
        ("watch machines.cluster.k8s.io", true, true, true),
        ("get hosts.tatara.dev", true, true, true),
        (
            "get clusterprofiles.multicluster.x-k8s.io",
            true,
            true,
            true,
        ),
        ("get leases.coordination.k8s.io/tatara", true, true, true),
        ("create clusters.cluster.k8s.io", false, true, true),
        (
            "patch machinedeployments.cluster.k8s.io --subresource=scale",
            false,
            true,
            true,
        ),
        ("delete machines.cluster.k8s.io", false, true, true),
        ("create machineclasses.cluster.k8s.io", false, true, true),
        ("create hosts.tatara.dev", false, false, true),
        ("patch hosts.tatara.dev", false, false, true),
        (
            "patch machines.cluster.k8s.io --subresource=status",
            false,
            false,
            false,
        ),
        (
            "patch clusterprofiles.multicluster.x-k8s.io",
            false,
            false,
            false,
        ),
    ] {
        let allowed = (
            may("viewer", what),
            may("editer", what),
            may("adminer", what),
        );
        assert_eq!(allowed, (view, edit, admin), "{what}");
    }
}

#[test]
#[ignore = "needs a management plane"]
fn the_deployment_satisfies_the_restricted_pod_security_standard() {
    let plane = installed();
    let deployment = plane
        .run(
            "get",
            &[
                "deployment",
                "tatara-manager",
                "-n",
                "tatara-system",
                "-o",
                "json",
            ],
        )
        .json();
    let mut pod = deployment["spec"]["template"].clone();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = "try".into();
    // The namespace enforces `restricted`; what does not satisfy it is refused.
    plane.create("tatara-system", &pod).out();
    pod["metadata"]["name"] = "try-root".into();
    pod["spec"]["containers"][0]["securityContext"]["runAsUser"] = 0.into();
    plane
        .create("tatara-system", &pod)
        .refused("root", &["restricted", "runAsUser=0"]);

    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/healthz");
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
}

#[test]
#[ignore = "needs a management plane"]
fn policies_have_no_type_errors() {
    let plane = installed();
    plane.until("type checking", |plane| {
        let all = plane
            .run(
                "get",
                &[
                    "validatingadmissionpolicies",
                    "-l",
                    "app.kubernetes.io/name=tatara",
                    "-o",
                    "json",
                ],
            )
            .json();
        let all = all["items"].as_array().expect("a list").clone();
        assert_eq!(all.len(), 6);
        for policy in &all {
            assert_eq!(
                policy["status"]["typeChecking"]["expressionWarnings"],
                Value::Null,
                "{policy}"
            );
        }
        all.iter().all(|policy| {
            policy["status"]["observedGeneration"] == policy["metadata"]["generation"]
        })
    });
}
