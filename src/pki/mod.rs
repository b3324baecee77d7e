//! Certificate authorities, kubeconfigs and bootstrap tokens.
