//! What the passes of all controllers share. What one kind alone needs is in its own controller.

use std::sync::Arc;

use kube::Client;
use serde::de::DeserializeOwned;

use super::unreadable::{self, Leans, UnreadableNotices};
use super::whose::{self, ForeignObjects, ProviderObject};
use crate::engine::{Engine, ReconcileError};
use crate::store::{Stores, Wakers};

/// What the passes of all controllers share.
pub struct Base {
    /// Runs them.
    pub engine: Arc<Engine>,
    /// Wakes controllers.
    pub wakers: Wakers,
    /// UID of the management cluster: of its namespace kube-system.
    pub management: String,
    /// What was said of objects that cannot be read.
    said: UnreadableNotices,
    /// What was done about objects that are not ours.
    regarded: ForeignObjects,
}

impl Base {
    /// Nothing was said or done yet.
    pub fn new(engine: Arc<Engine>, wakers: Wakers, management: String) -> Self {
        Self {
            engine,
            wakers,
            management,
            said: UnreadableNotices::default(),
            regarded: ForeignObjects::default(),
        }
    }

    /// A client of the management cluster.
    pub fn client(&self) -> Client {
        self.engine.client.clone()
    }

    /// What is watched there.
    pub fn stores(&self) -> &Stores {
        &self.engine.stores
    }

    /// Whether no pass may be made over an object, because it, or what it leans on, cannot be read.
    pub async fn is_held<K: Leans>(&self, object: &K) -> bool {
        unreadable::holds(&self.engine, &self.said, object).await
    }

    /// Whether an object is ours, so that a pass over it may go on.
    pub async fn is_ours<K>(&self, object: &Arc<K>) -> Result<bool, ReconcileError>
    where
        K: ProviderObject + Clone + DeserializeOwned + std::fmt::Debug,
    {
        whose::is_ours(&self.engine, &self.regarded, object).await
    }

    /// Forgets an object that is gone.
    pub fn forget(&self, uid: &str) {
        self.said.forget(uid);
        self.regarded.forget(uid);
    }
}
