//! Dependencies that the controllers of all kinds share. Those of one kind only are in its own
//! controller.

use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use serde::de::DeserializeOwned;

use super::ownership::{self, ForeignObjects, ProviderObject};
use super::unreadable::{self, Leans, UnreadableNotices};
use crate::clock;
use crate::engine::{Engine, ReconcileError};
use crate::store::{Stores, Wakers};

/// Dependencies that the controllers of all kinds share.
pub struct Base {
    /// Runs the passes.
    pub engine: Arc<Engine>,
    /// Wakes controllers.
    pub wakers: Wakers,
    /// UID of the management cluster: of its namespace kube-system.
    pub management: String,
    /// When this process became the leader.
    pub started_at: Timestamp,
    /// Published notices about objects that cannot be read.
    said: UnreadableNotices,
    /// Actions taken on objects of other providers.
    regarded: ForeignObjects,
}

impl Base {
    /// Starts without notices and actions.
    pub fn new(engine: Arc<Engine>, wakers: Wakers, management: String) -> Self {
        Self {
            engine,
            wakers,
            management,
            started_at: clock::now(),
            said: UnreadableNotices::default(),
            regarded: ForeignObjects::default(),
        }
    }

    /// A client of the management cluster.
    pub fn client(&self) -> Client {
        self.engine.client.clone()
    }

    /// The stores of watched objects.
    pub fn stores(&self) -> &Stores {
        &self.engine.stores
    }

    /// Whether an object may not be reconciled, because it, or an object that it depends on, cannot
    /// be read.
    pub async fn is_held<K: Leans>(&self, object: &K) -> bool {
        unreadable::holds(&self.engine, &self.said, object).await
    }

    /// Whether an object is ours and may be reconciled.
    ///
    /// # Errors
    /// Those of [`ownership::is_ours`].
    pub async fn is_ours<K>(&self, object: &Arc<K>) -> Result<bool, ReconcileError>
    where
        K: ProviderObject + Clone + DeserializeOwned + std::fmt::Debug,
    {
        ownership::is_ours(&self.engine, &self.regarded, object).await
    }

    /// Forgets a deleted object.
    pub fn forget(&self, uid: &str) {
        self.said.forget(uid);
        self.regarded.forget(uid);
    }
}
