//! Roots that have more than `spec` and `status`, which kube's derive macro cannot make.

/// Implements [`kube::Resource`] for a namespaced kind of `cluster.k8s.io/v1alpha1` whose root is
/// written by hand.
macro_rules! cluster_resource {
    ($kind:ident, $plural:literal) => {
        impl kube::Resource for $kind {
            type DynamicType = ();
            type Scope = kube::core::NamespaceResourceScope;
            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                stringify!($kind).into()
            }
            fn group((): &()) -> std::borrow::Cow<'_, str> {
                crate::api::CLUSTER_GROUP.into()
            }
            fn version((): &()) -> std::borrow::Cow<'_, str> {
                crate::api::VERSION.into()
            }
            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &kube::core::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub(super) use cluster_resource;
