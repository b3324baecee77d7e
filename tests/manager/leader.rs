//! Leader election.

use crate::world::World;

const HOLDER: &str = ".spec.holderIdentity";

#[tokio::test]
#[ignore = "needs a management plane"]
async fn a_manager_that_is_stopped_gives_the_lease_back_and_the_next_leads_at_once() {
    let mut world = World::new("leader").await;
    let lease = "lease/tatara";
    let first = world.system_says(lease, HOLDER);
    assert_ne!(first, "");
    assert!(world.stop_manager().await.success(), "an orderly end");
    assert_eq!(world.system_says(lease, HOLDER), "");
    world.start_manager();
    world.until_leading().await;
    assert_ne!(world.system_says(lease, HOLDER), first);
}
