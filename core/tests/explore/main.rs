//! The control plane's decisions, explored: each world begins small, everything that may happen in it happens in every order, with
//! up to two faults, and each state is judged. Run by `make explore`, and with small bounds by `hack/test unit`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here fails the test"
)]
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the search prints, has a clock and two threads, and is told by the environment what to explore"
)]

mod mended;
mod search;
mod world;
mod worlds;

use std::time::Instant;

use search::{Bounds, Found, search};
use worlds::World;

fn explore(world: &World, bounds: Bounds) -> Found {
    let begun = Instant::now();
    let found = search(&world.start, &world.faults, bounds);
    let end = if found.trouble.is_some() {
        "broken".to_owned()
    } else if found.exhausted {
        "exhausted".to_owned()
    } else {
        format!("cut at {} states", bounds.states)
    };
    println!(
        "{:<12} {:>9} states {:>10} transitions  depth {:>3}  {end}  {:.1} s",
        world.name,
        found.states,
        found.transitions,
        found.depth,
        begun.elapsed().as_secs_f64()
    );
    if let Some((what, history)) = &found.trouble {
        println!("  {what}");
        for event in history {
            println!("    {event:?}");
        }
    }
    found
}

/// With small bounds, in `hack/test unit`.
#[test]
fn no_world_is_broken_within_small_bounds() {
    for world in worlds::all() {
        let found = explore(&world, world.brief);
        assert!(
            found.trouble.is_none(),
            "{}: {:?}",
            world.name,
            found.trouble
        );
    }
}

/// What `hack/explore` runs: all worlds, or that of `TATARA_WORLD`.
#[test]
#[ignore = "takes minutes: hack/explore"]
fn no_world_is_broken() {
    let given = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (one, states) = (given("TATARA_WORLD"), given("STATES"));
    let times = if given("LONG").as_deref() == Some("1") {
        10
    } else {
        1
    };
    let states = states.map(|states| states.parse::<usize>().expect("STATES is a number"));
    let mut worlds = worlds::all();
    for world in &mut worlds {
        let faults =
            given("FAULTS").map(|faults| faults.parse::<u8>().expect("FAULTS is a number"));
        world.start.faults = faults.unwrap_or(world.start.faults);
    }
    worlds.retain(|world| one.as_ref().is_none_or(|one| one == world.name));
    assert!(!worlds.is_empty(), "there is no world {one:?}");
    let broken = worlds.iter().filter(|world| {
        println!("{}: {}", world.name, world.about);
        let bounds = Bounds {
            states: states.unwrap_or(world.whole.states * times),
            ..world.whole
        };
        explore(world, bounds).trouble.is_some()
    });
    assert_eq!(broken.count(), 0, "worlds are broken");
}
