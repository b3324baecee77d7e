//! kubeadm configuration and version rules; no I/O.
