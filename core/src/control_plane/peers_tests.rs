use super::super::members::MemberHealth;
use super::*;

pub(in super::super) const A: MemberId = MemberId(1);
pub(in super::super) const B: MemberId = MemberId(2);
pub(in super::super) const STRANGER: MemberId = MemberId(3);

/// Two healthy members of ours, led by the first, and one that belongs to no Machine.
pub(in super::super) fn members() -> Members {
    let member = |id: MemberId, name: &str| Member {
        id,
        name: name.into(),
        peer_urls: vec![format!("https://10.0.0.{id}:2380")],
        is_learner: false,
    };
    Members {
        list: vec![member(A, "a"), member(B, "b"), member(STRANGER, "s")],
        health: [A, B].map(|id| (id, MemberHealth::Healthy)).into(),
        leader: Some(A),
        alarms: Vec::new(),
    }
}

pub(in super::super) fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).expect("a time")
}

type Said = Result<Peers, String>;
/// What a and b say, and what follows.
type Answers = (&'static str, Option<Said>, Option<Said>, &'static str);
type Change = fn(&mut Members);
/// What is seen in these minutes, and since when it is silent then.
type Looks<'a> = (&'a str, &'a [(i64, Sign)], Option<i64>);

const NOBODY: &[MemberId] = &[];

/// Connected with these.
fn with(ids: &[MemberId]) -> Peers {
    Peers {
        connected: ids.iter().copied().collect(),
        ..Peers::default()
    }
}

#[test]
fn a_member_is_silent_only_if_all_that_are_healthy_say_so_and_see_each_other() {
    let sees = |ids: &[MemberId]| Some(Ok(with(ids)));
    let fails = || Some(Err("cp-a: no answer".to_owned()));
    let table: [Answers; 7] = [
        ("no connection", sees(&[B]), sees(&[A]), "silent"),
        ("with one", sees(&[B, STRANGER]), sees(&[A]), "connected a"),
        (
            "with one, and the other fails",
            fails(),
            sees(&[A, STRANGER]),
            "connected b",
        ),
        ("one fails", sees(&[B]), fails(), "unproven"),
        ("one was not asked", sees(&[B]), None, "unproven"),
        ("nobody was asked", None, None, "unproven"),
        ("one counts nobody", sees(&[B]), sees(NOBODY), "unproven"),
    ];
    for (case, a, b, expected) in table {
        let said = [(A, a), (B, b)].into_iter();
        let connections = said.filter_map(|(id, said)| Some((id, said?))).collect();
        let found = match sign(&members(), STRANGER, &connections) {
            Sign::Connected(by) => format!("connected {by}"),
            Sign::Sends(by) => format!("sends {by}"),
            Sign::Unproven(_) => "unproven".into(),
            Sign::Silent => "silent".into(),
        };
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn nothing_is_silent_where_too_few_can_tell() {
    let connections: Connections = [(A, Ok(with(&[B]))), (B, Ok(with(&[A])))].into();
    let changes: [(&str, Change); 5] = [
        ("no leader is known", |m| m.leader = None),
        ("it leads", |m| m.leader = Some(STRANGER)),
        ("one is unhealthy", |m| drop(m.health.remove(&B))),
        ("one does not vote yet", |m| m.list[1].is_learner = true),
        ("a second stranger leads", |m| m.leader = Some(MemberId(9))),
    ];
    for (case, change) in changes {
        let mut members = members();
        change(&mut members);
        let found = sign(&members, STRANGER, &connections);
        assert!(matches!(found, Sign::Unproven(_)), "{case}: {found:?}");
    }
}

#[test]
fn silence_is_counted_from_its_begin_and_anew_after_any_other_answer_or_a_gap() {
    let connected = || Sign::Connected("a".into());
    let unproven = || Sign::Unproven("why".into());
    let table: [Looks<'_>; 7] = [
        ("the first look", &[(5, Sign::Silent)], Some(5)),
        (
            "two looks",
            &[(5, Sign::Silent), (6, Sign::Silent)],
            Some(5),
        ),
        (
            "it was connected",
            &[(5, Sign::Silent), (6, connected()), (7, Sign::Silent)],
            Some(7),
        ),
        (
            "it is connected",
            &[(5, Sign::Silent), (6, connected())],
            None,
        ),
        (
            "nothing was proven in between",
            &[(5, Sign::Silent), (6, unproven()), (7, Sign::Silent)],
            Some(7),
        ),
        (
            "nobody looked for long",
            &[(5, Sign::Silent), (8, Sign::Silent)],
            Some(8),
        ),
        (
            "the clock went back",
            &[(5, Sign::Silent), (4, Sign::Silent)],
            Some(4),
        ),
    ];
    for (case, looks, expected) in table {
        let watch = looks.iter().fold(None, |before, (minute, sign)| {
            let (sign, received) = (sign.clone(), Received::new());
            Some(Watch::next(before.as_ref(), sign, received, at(*minute)))
        });
        assert_eq!(
            watch.and_then(|watch| watch.since),
            expected.map(at),
            "{case}"
        );
    }
}

#[test]
fn a_member_from_which_another_receives_data_serves_though_nobody_is_connected_with_it() {
    type Bytes = &'static [(MemberId, &'static str)];
    type Look = (&'static str, [Bytes; 2], Sign, Option<i64>);
    let (same, more): (Bytes, Bytes) = (&[(A, "1.5e+06"), (B, "7")], &[(A, "1.6e+06"), (B, "7")]);
    let table: [Look; 5] = [
        ("nothing came", [same, same], Sign::Silent, Some(0)),
        ("data came", [same, more], Sign::Sends(A), None),
        (
            "the first data came",
            [&[(A, "")], &[(A, "9")]],
            Sign::Sends(A),
            None,
        ),
        (
            "one was restarted",
            [same, &[(A, ""), (B, "7")]],
            Sign::Silent,
            Some(1),
        ),
        (
            "one more is asked",
            [&[(A, "1")], &[(A, "1"), (B, "7")]],
            Sign::Silent,
            Some(1),
        ),
    ];
    for (case, looks, sign, since) in table {
        let watch = (0..)
            .zip(looks)
            .fold(None, |before: Option<Watch>, (minute, bytes)| {
                let bytes = bytes.iter().map(|(by, bytes)| (*by, (*bytes).to_owned()));
                Some(Watch::next(
                    before.as_ref(),
                    Sign::Silent,
                    bytes.collect(),
                    at(minute),
                ))
            });
        let watch = watch.expect("a look");
        assert_eq!((watch.sign, watch.since), (sign, since.map(at)), "{case}");
    }
}

#[test]
fn what_was_received_is_that_of_each_that_answered() {
    let mut told = with(&[B]);
    told.received.insert(STRANGER, "40".into());
    told.received.insert(B, "9".into());
    let connections = [
        (A, Ok(told)),
        (B, Ok(with(&[A]))),
        (MemberId(4), Err("why".into())),
    ];
    let expected = [(A, "40".to_owned()), (B, String::new())];
    assert_eq!(received(STRANGER, &connections.into()), expected.into());
}
