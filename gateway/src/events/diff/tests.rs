use super::*;
use crate::api::types::{
    Acceleration, Amount, Firmware, ImageState, MachineSpec, MachineState, PoolCapacity, RootDisk,
};

fn machine(id: u128) -> (Uuid, Arc<Machine>) {
    let id = Uuid::from_u128(id);
    let root_disk = RootDisk {
        size_bytes: 1 << 20,
        image: None,
        pool: "default".to_owned(),
    };
    let spec = MachineSpec {
        name: "a".to_owned(),
        labels: BTreeMap::new(),
        cpus: 1,
        memory_bytes: 1 << 20,
        firmware: Firmware::Bios,
        architecture: None,
        root_disk,
        disks: Vec::new(),
        interfaces: Vec::new(),
        cpu_model: None,
    };
    let machine = Machine {
        id,
        spec_hash: String::new(),
        spec,
        state: MachineState::Running,
        state_reason: None,
        seed: false,
        incomplete: false,
        unreadable: false,
        addresses: Vec::new(),
        interfaces: Vec::new(),
    };
    (id, Arc::new(machine))
}

fn image() -> Image {
    Image {
        sha256: "0".repeat(64),
        pool: "default".to_owned(),
        state: ImageState::Ready,
        received_bytes: 1,
        total_bytes: None,
        error: None,
    }
}

fn capacity(available_bytes: u64) -> Capacity {
    let amount = Amount {
        total: 1,
        limit: 1,
        allocated: 0,
    };
    let pool = PoolCapacity {
        name: "default".to_owned(),
        capacity_bytes: 256_000,
        available_bytes,
    };
    Capacity {
        hostname: "h".to_owned(),
        uuid: Uuid::nil(),
        libvirt_version: "9.0.0".to_owned(),
        hypervisor: None,
        architecture: "x86_64".to_owned(),
        acceleration: Acceleration::None,
        cpus: amount,
        memory_bytes: amount,
        pools: vec![pool],
        networks: Vec::new(),
        bridges: Vec::new(),
    }
}

fn snapshot(machines: &[u128], images: &[Image]) -> Snapshot {
    Snapshot {
        number: 1,
        machines: machines.iter().map(|id| machine(*id)).collect(),
        images: images
            .iter()
            .map(|i| ((i.pool.clone(), i.sha256.clone()), i.clone()))
            .collect(),
        capacity: capacity(0),
    }
}

#[test]
fn the_first_look_is_told_whole_and_the_same_look_again_not_at_all() {
    let now = snapshot(&[1, 2], &[image()]);
    assert_eq!(diff(None, &now).len(), 4);
    assert_eq!(diff(Some(&now), &now), Vec::new());
}

#[test]
fn only_what_differs_is_told() {
    let before = snapshot(&[1, 2], &[image()]);
    let mut now = snapshot(&[2, 3], &[]);
    let (id, mut changed) = machine(2);
    Arc::make_mut(&mut changed).state = MachineState::Off;
    now.machines.insert(id, changed.clone());
    let told = diff(Some(&before), &now);
    let gone = Change::ImageGone {
        pool: image().pool,
        sha256: image().sha256,
    };
    let expected = [
        Change::Machine(changed),
        Change::Machine(machine(3).1),
        Change::MachineGone(machine(1).0),
        gone,
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_pool_that_fills_a_little_is_no_news_and_one_that_fills_more_is() {
    let old = capacity(100_000);
    assert_eq!(settled(Some(&old), capacity(99_001)), old);
    assert_eq!(settled(Some(&old), capacity(99_000)), capacity(99_000));
    assert_eq!(settled(None, capacity(1)), capacity(1));
    let mut more = capacity(99_500);
    more.cpus.allocated = 1;
    assert_eq!(settled(Some(&old), more.clone()), more);
}
