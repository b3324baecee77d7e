use super::*;
use crate::wire::{ImageError, ImageState};

fn machine(id: &str, labels: usize) -> Event {
    let mut machine = Machine::unreadable(id);
    let text = "x".repeat(labels);
    machine.spec.labels.insert("a".into(), text);
    machine.unreadable = false;
    Event::Machine(Box::new(machine))
}

fn image(sha256: &str, detail: usize) -> Event {
    Event::Image(Image {
        sha256: sha256.into(),
        pool: "default".into(),
        state: ImageState::Failed,
        received_bytes: 0,
        total_bytes: None,
        error: Some(ImageError {
            code: "FetchFailed".into(),
            detail: "x".repeat(detail),
        }),
    })
}

#[test]
fn virtual_machines_of_many_bytes_are_not_kept_and_nobody_takes_them_for_gone() {
    let mut view = View::default();
    for number in 0..64 {
        view.take(machine(&number.to_string(), 200 << 10));
    }
    assert!(view.weight() <= LARGEST);
    assert!(view.machines().count() < 21);
    let why = view.unreadable.clone().expect("it is said");
    assert!(why.contains("more than 4 MiB of virtual machines"), "{why}");
    // one that becomes too large stays, and nothing is known of it
    assert_eq!(
        view.take(machine("0", LARGEST)),
        Concerns::Machine("0".into())
    );
    assert!(view.machine("0").is_some_and(|machine| machine.unreadable));
    let others = (1..64).map(|number| Event::MachineGone(number.to_string()));
    others.for_each(|gone| drop(view.take(gone)));
    view.take(machine("0", 10));
    assert!(view.machine("0").is_some_and(|machine| !machine.unreadable));
    view.take(Event::MachineGone("0".into()));
    assert_eq!(view.weight(), 0);
}

#[test]
fn images_of_many_bytes_are_not_kept_and_their_errors_have_an_end() {
    let mut view = View::default();
    view.take(image("a", 200 << 10));
    let kept = view
        .image("a", "default")
        .and_then(|image| image.error.as_ref());
    assert_eq!(kept.map(|error| error.detail.len()), Some(TOLD));
    view.take(Event::ImageGone("a".into(), "default".into()));
    assert_eq!(view.weight(), 0);
    for number in 0..64 {
        view.take(image(&format!("{number}{}", "a".repeat(100 << 10)), 1));
    }
    assert!(view.weight() <= LARGEST);
    assert!(view.unreadable.is_some());
}

#[test]
fn names_of_a_capacity_have_an_end() {
    let mut view = View::default();
    let networks = vec![String::new(); 10_000];
    let capacity = Capacity {
        networks: Some(networks),
        ..Capacity::default()
    };
    view.take(Event::Capacity(capacity));
    assert_eq!(view.capacity, None);
    assert!(view.unreadable.is_some());
}
