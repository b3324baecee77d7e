//! Real HTTP against the listener, and images from a real server.

mod fetched;
mod large;
mod open;

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::*;
use tatara_core::api::installation::IsoImage;
use tatara_core::installer::{Base, BaseState, Failure, Report, empty_area};

const BEFORE: usize = 3 * 2048;
const ROOM: usize = 4096;
const AFTER: usize = 1_000_001;

/// An image with an embed area in it, by its bytes.
fn image(areas: usize) -> Vec<u8> {
    let mut image: Vec<u8> = (0..BEFORE)
        .map(|n| u8::try_from(n % 251).expect("a byte"))
        .collect();
    for _ in 0..areas {
        image.extend(empty_area(ROOM).expect("room").iter());
    }
    image.extend((0..AFTER).map(|n| u8::try_from(n % 241).expect("a byte")));
    image
}

fn library(folder: &Path, stop: &CancellationToken) -> Library {
    let reach = crate::remote::Reach::given(true);
    Library::new(
        folder.join("media"),
        reach,
        TaskTracker::new(),
        stop.clone(),
    )
}

/// What becomes of an image that is asked for.
async fn end(library: &Library, iso: &IsoImage) -> BaseState {
    for _ in 0..6000 {
        match library.image(iso, || {}) {
            BaseState::Fetching => tokio::time::sleep(Duration::from_millis(10)).await,
            state => return state,
        }
    }
    panic!("still fetching");
}
