//! The manager as users install it: its image in a cluster that Tatara made, templates/install applied to it.

use std::path::Path;
use std::process::Command;

use http::Request;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;

use crate::support::commands::done;
use crate::support::wait::within;
use crate::support::world::{World, root};

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
    let printed = Command::new(env!("CARGO_BIN_EXE_tatara"))
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
        .arg(&install);
    done(&mut command);

    let member = world.member().await;
    let deployments: Api<Deployment> = Api::namespaced(member.clone(), "tatara-system");
    within("a manager that is ready", 120, async || {
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
    installers_are_served(world, &install).await;
}

/// With `if-wanted/media.yaml` and what it says to set, a BMC is answered at the port of any node.
async fn installers_are_served(world: &World, install: &Path) {
    let media = install.join("if-wanted/media.yaml");
    let mut apply = world.member_kubectl();
    done(apply.args(["apply", "--server-side", "-f"]).arg(media));
    let at = |host: u8| format!("http://{}.{host}:30890", world.subnet());
    let mut set = world.member_kubectl();
    done(
        set.args(["-n", "tatara-system", "set", "env"])
            .arg("deployment/tatara-manager")
            .arg("TATARA_MEDIA_ADDRESS=0.0.0.0:8090")
            .arg(format!("TATARA_MEDIA_URL={}", at(12))),
    );
    for host in [11, 12, 13] {
        // the port of metrics would answer 200
        let nobodys = format!("{}/healthz", at(host));
        within("an answer to a BMC", 120, async || {
            let mut curl = Command::new("curl");
            curl.args(["-s", "-m", "5", "-o", "/dev/null", "-w", "%{http_code}"]);
            let answer = curl.arg(&nobodys).output().expect("curl");
            (answer.stdout == b"404").then_some(())
        })
        .await;
    }
}
