//! What is wrong in a MachineClass or a Host.

use serde_json::{Value, json};

use crate::admission::manifests::{KEY, bad, class, host, refuse};
use crate::support::kubectl::installed;

#[test]
#[ignore = "needs a management plane"]
fn a_bad_machine_class_is_refused_with_field_value_and_remedy() {
    let with =
        |case, path: &str, value, says: &[&'static str]| bad(case, class("bad"), path, value, says);
    refuse(vec![
        with(
            "misspelt field",
            "providerSpecs",
            json!({}),
            &["unknown field \"providerSpecs\""],
        ),
        with(
            "no provider spec",
            "providerSpec",
            Value::Null,
            &["providerSpec: Required value"],
        ),
        with(
            "text",
            "providerSpec",
            json!("ssh"),
            &["providerSpec", "must be of type object: \"string\""],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_host_is_refused_with_field_value_and_remedy() {
    let with =
        |case, path: &str, value, says: &[&'static str]| bad(case, host("bad"), path, value, says);
    let jump = |host_keys: Value| json!([{ "address": "bastion", "hostKeys": host_keys }]);
    refuse(vec![
        with(
            "misspelt field",
            "spec.ssh.hostkeys",
            json!([]),
            &["unknown field \"spec.ssh.hostkeys\""],
        ),
        with(
            "no key",
            "spec.ssh.hostKeys",
            Value::Null,
            &[
                "spec.ssh",
                "hostKeys is empty: pin the host's public keys",
                "or set trustOnFirstUse: true",
            ],
        ),
        with(
            "empty keys",
            "spec.ssh.hostKeys",
            json!([]),
            &["spec.ssh", "hostKeys is empty: pin the host's public keys"],
        ),
        with(
            "malformed key",
            "spec.ssh.hostKeys",
            json!(["ssh-ed25519 AAAA"]),
            &[
                "spec.ssh.hostKeys[0]",
                "\"ssh-ed25519 AAAA\"",
                "as ssh-keyscan prints it without the name",
            ],
        ),
        with(
            "key with name",
            "spec.ssh.hostKeys",
            json!([format!("node-1 {KEY}")]),
            &[
                "spec.ssh.hostKeys[0]",
                "node-1 ssh-ed25519",
                "without the name",
            ],
        ),
        with(
            "weak key",
            "spec.ssh.hostKeys",
            json!([KEY.replace("ssh-ed25519", "ssh-dss")]),
            &[
                "spec.ssh.hostKeys[0]",
                "ssh-dss",
                "must be a public host key",
            ],
        ),
        with(
            "root as another",
            "spec.ssh.user",
            json!("debian"),
            &[
                "spec.ssh",
                "privilege is root but user is debian",
                "set privilege: sudo, or user: root",
            ],
        ),
        with(
            "bad privilege",
            "spec.ssh.privilege",
            json!("doas"),
            &["spec.ssh.privilege", "\"doas\"", "\"root\", \"sudo\""],
        ),
        with(
            "port 0",
            "spec.ssh.port",
            json!(0),
            &["spec.ssh.port", "0", "greater than or equal to 1"],
        ),
        with(
            "port too high",
            "spec.ssh.port",
            json!(65536),
            &["spec.ssh.port", "65536", "less than or equal to 65535"],
        ),
        with(
            "port as text",
            "spec.ssh.port",
            json!("22"),
            &["spec.ssh.port", "must be of type integer: \"string\""],
        ),
        with(
            "user in address",
            "spec.ssh.address",
            json!("root@192.0.2.10"),
            &[
                "spec.ssh.address",
                "\"root@192.0.2.10\"",
                "with user and port in their own fields",
            ],
        ),
        with(
            "port in address",
            "spec.ssh.address",
            json!("192.0.2.10:22"),
            &[
                "spec.ssh.address",
                "\"192.0.2.10:22\"",
                "with user and port in their own fields",
            ],
        ),
        with(
            "no credentials",
            "spec.ssh.credentialsRef",
            Value::Null,
            &["spec.ssh.credentialsRef: Required value"],
        ),
        with(
            "jump on trust",
            "spec.ssh.jump",
            jump(json!([])),
            &["spec.ssh.jump[0].hostKeys", "at least 1 items"],
        ),
        with(
            "jump with a bad key",
            "spec.ssh.jump",
            jump(json!(["x"])),
            &[
                "spec.ssh.jump[0].hostKeys[0]",
                "\"x\"",
                "as ssh-keyscan prints it",
            ],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_bmc_is_refused_with_field_value_and_remedy() {
    let bmc = |path: &str, value: Value| {
        let mut bmc = json!({
            "address": "https://192.0.2.20",
            "credentialsRef": {"name": "bmc"},
            "tls": {"fingerprint": format!("sha256:{}", "0a".repeat(32))},
        });
        match path.split_once('.') {
            Some((part, field)) => bmc[part][field] = value,
            None => bmc[path] = value,
        }
        bmc
    };
    let with = |case, path: &str, value, says: &[&'static str]| {
        bad(case, host("bad"), "spec.bmc", bmc(path, value), says)
    };
    let no_address = "https:// and its address";
    refuse(vec![
        with(
            "unencrypted",
            "address",
            json!("http://192.0.2.20"),
            &["spec.bmc.address", "\"http://192.0.2.20\"", no_address],
        ),
        with(
            "no URL",
            "address",
            json!("192.0.2.20"),
            &["spec.bmc.address", "\"192.0.2.20\"", no_address],
        ),
        with(
            "password in address",
            "address",
            json!("https://admin:secret@192.0.2.20"),
            &["spec.bmc.address", no_address],
        ),
        with(
            "path in address",
            "address",
            json!("https://192.0.2.20/redfish/v1"),
            &["spec.bmc.address", no_address],
        ),
        with(
            "no credentials",
            "credentialsRef",
            Value::Null,
            &["spec.bmc.credentialsRef: Required value"],
        ),
        with(
            "no TLS",
            "tls",
            Value::Null,
            &["spec.bmc.tls: Required value"],
        ),
        with(
            "neither",
            "tls",
            json!({}),
            &["spec.bmc.tls", "set exactly one of certificateAuthorityRef"],
        ),
        with(
            "both",
            "tls.certificateAuthorityRef",
            json!({"name": "ca"}),
            &["spec.bmc.tls", "set exactly one of certificateAuthorityRef"],
        ),
        with(
            "short fingerprint",
            "tls.fingerprint",
            json!("sha256:0a"),
            &["spec.bmc.tls.fingerprint", "\"sha256:0a\"", "openssl x509"],
        ),
        with(
            "SHA-1",
            "tls.fingerprint",
            json!(format!("sha1:{}", "0a".repeat(20))),
            &["spec.bmc.tls.fingerprint", "must be a SHA-256 fingerprint"],
        ),
        with(
            "misspelt field",
            "powerOff",
            json!(true),
            &["unknown field \"spec.bmc.powerOff\""],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_bad_installation_is_refused_with_field_value_and_remedy() {
    let good = || {
        let mut host = host("bad");
        host["spec"]["bmc"] = json!({
            "address": "https://192.0.2.20", "credentialsRef": {"name": "bmc"},
            "tls": {"fingerprint": format!("sha256:{}", "0a".repeat(32))},
        });
        host["spec"]["rootDeviceHints"] = json!({"serialNumber": "S1"});
        host["spec"]["installation"] =
            json!({"iso": {"url": "https://a.example/i.iso", "sha256": "0a".repeat(32)}});
        host["spec"]["wipePolicy"] = "reinstall".into();
        host
    };
    let with =
        |case, path: &str, value, says: &[&'static str]| bad(case, good(), path, value, says);
    let mut without = good();
    without["spec"]["wipePolicy"] = "reset".into();
    refuse(vec![
        with(
            "unknown policy",
            "spec.wipePolicy",
            json!("wipe"),
            &["spec.wipePolicy", "\"wipe\"", "\"reinstall\""],
        ),
        with(
            "nothing to install",
            "spec.installation",
            Value::Null,
            &["spec.wipePolicy", "set installation.iso to the installer"],
        ),
        with(
            "no drive",
            "spec.bmc",
            Value::Null,
            &["spec.installation", "bmc is not set"],
        ),
        with(
            "any disk",
            "spec.rootDeviceHints",
            Value::Null,
            &["spec.installation", "rootDeviceHints is not set"],
        ),
        bad(
            "any disk, on demand",
            without,
            "spec.rootDeviceHints",
            Value::Null,
            &["rootDeviceHints is not set"],
        ),
        with(
            "no hint",
            "spec.rootDeviceHints",
            json!({}),
            &["spec.rootDeviceHints", "set serialNumber or wwn"],
        ),
        with(
            "empty serial number",
            "spec.rootDeviceHints.serialNumber",
            json!(""),
            &["spec.rootDeviceHints.serialNumber"],
        ),
        with(
            "blank WWN",
            "spec.rootDeviceHints.wwn",
            json!(" "),
            &["spec.rootDeviceHints.wwn", "\" \"", "does not name a disk"],
        ),
        with(
            "shell in a serial number",
            "spec.rootDeviceHints.serialNumber",
            json!("a$(id)"),
            &["a$(id)", "does not name a disk"],
        ),
        with(
            "file",
            "spec.installation.iso.url",
            json!("file:///i.iso"),
            &["file:///i.iso", "must be an http or https URL"],
        ),
        with(
            "password in a URL",
            "spec.installation.iso.url",
            json!("https://a:b@c/i.iso"),
            &["without a user"],
        ),
        with(
            "short sum",
            "spec.installation.iso.sha256",
            json!("0a"),
            &["\"0a\"", "64 lower-case hexadecimal digits"],
        ),
        with(
            "no time",
            "spec.installation.timeoutSeconds",
            json!(1),
            &["spec.installation.timeoutSeconds", "10"],
        ),
    ]);
}

#[test]
#[ignore = "needs a management plane"]
fn a_host_that_is_installed_needs_no_host_key_beforehand() {
    let mut host = host("installed");
    host["spec"]["ssh"]["hostKeys"] = json!([]);
    host["spec"]["bmc"] = json!({
        "address": "https://192.0.2.20", "credentialsRef": {"name": "bmc"},
        "tls": {"fingerprint": format!("sha256:{}", "0a".repeat(32))},
    });
    host["spec"]["rootDeviceHints"] = json!({"wwn": "0x5000c500a1b2c3d4"});
    host["spec"]["installation"] =
        json!({"iso": {"url": "http://a.example/i.iso", "sha256": "0a".repeat(32)}});
    installed().create("default", &host).out();
    let said = installed()
        .run("get", &["host", "installed", "-o", "json"])
        .json();
    assert_eq!(said["spec"]["wipePolicy"], "reset");
    assert_eq!(said["spec"]["installation"]["timeoutSeconds"], 3600);
}
