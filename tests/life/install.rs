//! The manager as users install it: its image in a cluster that Tatara made, templates/install applied to it.

use http::Request;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;

use crate::world::{World, done, eventually, root};

/// Packs the manager, gives the image to the workers, applies the definitions and templates/install, and waits
/// until the API server itself is told by /readyz that it is ready.
pub async fn runs_in_a_cluster(world: &World) {
    let archive = world.run().join("manager.tar");
    let archive = archive.to_str().expect("a path");
    done(world.hack("manager-image").arg(archive));
    for host in ["host-b", "host-c"] {
        world.fleet(&["put", host, archive, "/root"]);
        world.shell(
            host,
            "ctr -n k8s.io images import /root/manager.tar && rm /root/manager.tar",
        );
    }
    let definitions = world.run().join("definitions.yaml");
    let printed = std::process::Command::new(env!("CARGO_BIN_EXE_tatara"))
        .arg("crds")
        .output();
    std::fs::write(&definitions, printed.expect("definitions").stdout).expect("a file");
    let install = root().join("templates/install");
    let mut command = world.member_kubectl();
    command
        .args(["apply", "--server-side", "-f"])
        .arg(&definitions);
    command
        .arg("-f")
        .arg(install.join("if-missing"))
        .arg("-f")
        .arg(install);
    done(&mut command);

    let member = world.member().await;
    let deployments: Api<Deployment> = Api::namespaced(member.clone(), "tatara-system");
    eventually("a manager that is ready", 120, async || {
        let deployment = deployments
            .get("tatara-manager")
            .await
            .expect("the Deployment");
        (deployment.status?.ready_replicas == Some(1)).then_some(())
    })
    .await;
    let path = "/api/v1/namespaces/tatara-system/services/tatara-manager:http/proxy/readyz";
    let request = Request::get(path).body(Vec::new()).expect("a request");
    let answer = member.request_text(request).await.expect("an answer");
    assert_eq!(answer.trim(), "ok");
}
