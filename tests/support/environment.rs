//! What scripts of hack/ are told of a world.

use std::process::Command;

/// What a quickstart consists of.
#[derive(Clone, Copy, Default)]
pub struct Of {
    /// Number of hosts.
    pub hosts: usize,
    /// How many of them are for control planes, where hack/quickstart does not choose.
    pub control_hosts: Option<usize>,
    /// The Kubernetes version before the newest.
    pub previous: bool,
}

/// Name, subnet, and what it consists of, as variables of hack/quickstart.
pub fn surround(
    command: &mut Command,
    (name, subnet, of): (&str, &str, Of),
    state: &tempfile::TempDir,
) {
    command
        .env("FLEET", name)
        .env("SUBNET", subnet)
        .env("HOSTS", of.hosts.to_string())
        .env("PREVIOUS", u8::from(of.previous).to_string())
        .env("TATARA_OWNER", std::process::id().to_string())
        .env("TATARA_STATE", state.path())
        .env("TATARA_BINARY", env!("CARGO_BIN_EXE_tatara"))
        .env("NO_INSTALL", "1");
    if let Some(count) = of.control_hosts {
        command.env("CONTROL_HOSTS", count.to_string());
    }
    // where the manager serves installers, the same after each start of it
    let kept = state.path().join("media-address");
    let address = std::fs::read_to_string(&kept).unwrap_or_else(|_| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address").to_string();
        std::fs::write(&kept, &address).expect("a file");
        address
    });
    command
        .env("TATARA_MEDIA_URL", format!("http://{address}"))
        .env("TATARA_MEDIA_ADDRESS", address)
        .env("TATARA_MEDIA_FOLDER", state.path().join("media"));
}
