use super::*;

fn all_of(is_watch: bool, piece: &[u8], times: usize) -> Result<(), (&'static str, usize)> {
    let mut count = Count::new(is_watch);
    (0..times).try_for_each(|_| count.add(piece))
}

#[test]
fn an_answer_ends_at_the_limit_that_it_exceeds() {
    let mib = vec![b'x'; 1 << 20];
    assert_eq!(all_of(false, &mib, 16), Ok(()));
    assert_eq!(
        all_of(false, &mib, 17),
        Err(("bytes in one answer", ANSWER))
    );
    // the newlines of an answer that is no watch begin nothing
    let lines = [b"\n".repeat(1 << 20)].concat();
    assert_eq!(
        all_of(false, &lines, 17),
        Err(("bytes in one answer", ANSWER))
    );
    let nodes = b"{}, ".repeat(1000);
    assert_eq!(
        all_of(false, &nodes, 66),
        Err(("objects in one answer", OBJECTS))
    );
    let numbers = b"1,".repeat(1 << 10);
    assert_eq!(
        all_of(false, &numbers, 1025),
        Err(("values in one answer", VALUES))
    );
}

#[test]
fn each_line_of_a_watch_has_a_limit_and_so_have_all_of_them() {
    let piece = vec![b'x'; 1 << 20];
    assert_eq!(
        all_of(true, &piece, 5),
        Err(("bytes in one line of a watch", LINE))
    );
    let mut line = vec![b'x'; 1 << 18];
    line.push(b'\n');
    assert_eq!(all_of(true, &line, 100), Ok(()));
    let mut count = Count::new(true);
    count.total = WATCH;
    assert_eq!(count.add(b"\n"), Err(("bytes in one watch", WATCH)));
}

#[test]
fn a_list_has_a_last_page_whatever_its_tokens_are() {
    let share = Share::of(&Uri::from_static("https://192.0.2.1:6443"), "default");
    let first = Uri::from_static("/api/v1/nodes?limit=500");
    let list = |pages: usize| {
        share.page(&first)?;
        (1..pages).try_for_each(|page| {
            let next = format!("/api/v1/nodes?limit=500&continue=t{}", page % 7);
            share.page(&next.parse().unwrap())
        })
    };
    assert_eq!(list(PAGES), Ok(()));
    assert_eq!(list(PAGES), Ok(()));
    let why = list(PAGES + 1).unwrap_err().to_string();
    assert!(
        why.starts_with("the server 192.0.2.1:6443 sent more than 60 pages of one list"),
        "{why}"
    );
}

#[tokio::test]
async fn a_client_has_one_turn_and_leaves_the_others_theirs() {
    let url = Uri::from_static("https://192.0.2.1:6443");
    let queue = Queue::new();
    let share = || Share::among(&queue, &url, "default");
    let (greedy, other) = (share(), share());
    let first = Arc::clone(&greedy).turn().await;
    let mut second = Box::pin(Arc::clone(&greedy).turn());
    assert!(futures::poll!(&mut second).is_pending());
    assert!(other.turn().await.is_some());
    drop(first);
    assert!(second.await.is_some());
}

#[tokio::test]
async fn a_namespace_stands_in_the_queue_once_however_many_servers_it_has() {
    let url = Uri::from_static("https://192.0.2.1:6443");
    let queue = Queue::new();
    let turn = |namespace| Box::pin(Share::among(&queue, &url, namespace).turn());
    let mut greedy: Vec<_> = (0..30).map(|_| turn("greedy")).collect();
    let mut held = Vec::new();
    for turn in &mut greedy[..TURNS] {
        held.push(turn.await);
    }
    for waiting in &mut greedy[TURNS..] {
        assert!(futures::poll!(waiting).is_pending());
    }
    let mut other = turn("other");
    assert!(futures::poll!(&mut other).is_pending());
    // the one of the greedy that was first in the queue, and then the other
    held.truncate(TURNS - 2);
    assert!(futures::poll!(&mut greedy[TURNS]).is_ready());
    assert!(futures::poll!(&mut other).is_ready());
    drop(held);
    for waiting in &mut greedy[TURNS + 1..] {
        assert!(waiting.await.is_some(), "the others have theirs after that");
    }
}

#[test]
fn the_page_on_security_has_each_of_these_limits() {
    let page = include_str!("../../docs/security.md");
    let bytes = |of: usize| match of >> 20 {
        0 => format!("{} KiB", of >> 10),
        mib => format!("{mib} MiB"),
    };
    let number = |of: usize| match (of / 1_000_000, of / 1_000 % 1_000, of % 1_000) {
        (0, 0, ones) => ones.to_string(),
        (0, thousands, ones) => format!("{thousands},{ones:03}"),
        (millions, thousands, ones) => format!("{millions},{thousands:03},{ones:03}"),
    };
    let seconds = |of: Duration| format!("{} s", of.as_secs());
    let turns = ["none", "one", "two", "three", "four"][TURNS];
    let rows = [
        (
            "an answer, or a page of a list |",
            vec![
                bytes(ANSWER),
                format!("{} objects", number(OBJECTS)),
                format!("{} values", number(VALUES)),
                seconds(CALL),
            ],
        ),
        (
            "the rest of an answer",
            vec![
                bytes(SMALL),
                format!("{turns} at once"),
                seconds(WAIT),
                seconds(TURN),
            ],
        ),
        ("pages of a list |", vec![number(PAGES), seconds(LIST)]),
        ("a line of a watch |", vec![bytes(LINE), seconds(SILENCE)]),
        ("a watch |", vec![bytes(WATCH)]),
        (
            "Nodes of a workload cluster |",
            vec![number(NODES), bytes(VIEWS)],
        ),
        ("Nodes of all workload clusters |", vec![bytes(ALL_VIEWS)]),
        ("headers of an answer |", vec![number(HEADERS)]),
    ];
    for (name, limits) in rows {
        let begin = format!("| {name}");
        let row = page.lines().find(|line| line.starts_with(&begin));
        let row = row.expect(name);
        for limit in limits {
            assert!(row.contains(&limit), "no {limit} in: {row}");
        }
    }
}
