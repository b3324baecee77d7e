//! The manager and a real hypervisor: libvirtd, QEMU and `tatara-gateway` of hack/, without an operating system
//! in the virtual machines. What happens inside one is tested by tests/slow/vm.rs.

mod contract;
mod faults;
mod machines;
mod world;
