//! How far the Machines of a world are, and waiting for that.

use std::collections::BTreeSet;

use kube::ResourceExt;
use tatara_core::api::Machine;

use super::conditions::{is_true, said};
use super::wait::within;
use super::world::World;

impl World {
    /// How far each Machine's bootstrap is: "quickstart-control-plane False/KubeadmInit: 2/6 init".
    pub async fn progress(&self) -> BTreeSet<String> {
        let machines = self.list::<Machine>().await;
        let lines = machines.iter().map(|machine| {
            let status = machine.status.as_ref();
            let conditions = status.map(|s| s.conditions.as_slice()).unwrap_or_default();
            format!(
                "{} {}",
                machine.name_any(),
                said(conditions, "BootstrapReady")
            )
        });
        lines.collect()
    }

    /// Waits until one of the lines of [`Self::progress`] contains `text`; returns the Machine's name.
    pub async fn until_one_says(&self, text: &str, seconds: u64) -> String {
        let line = within(text, seconds, async || {
            self.progress()
                .await
                .into_iter()
                .find(|line| line.contains(text))
        })
        .await;
        line.split(' ').next().unwrap_or_default().to_owned()
    }

    /// Waits until there are `count` Machines, and all are Ready.
    pub async fn until_ready(&self, count: usize, seconds: u64) {
        within("Machines that are Ready", seconds, async || {
            let machines = self.list::<Machine>().await;
            let ready = machines.iter().filter(|machine| {
                let status = machine.status.as_ref();
                status.is_some_and(|status| is_true(&status.conditions, "Ready"))
            });
            (machines.len() == count && ready.count() == count).then_some(())
        })
        .await;
    }
}
