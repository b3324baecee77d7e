use super::*;

#[test]
fn a_ca_in_place_of_the_one_that_the_control_plane_was_made_with_is_not_used() {
    let now = Timestamp::from_second(1_800_000_000).expect("a time");
    let made = || Authorities::load_or_generate("c", &BTreeMap::new(), now).expect("a CA");
    let (own, other) = (made().0, made().0);
    let pem = |of: &Authorities| of.cluster.certificate_pem().to_owned();
    let both = pem(&other) + &pem(&own);
    for (case, made_with, is_used) in [
        ("the same", Some(pem(&own)), true),
        ("before there is a control plane", None, true),
        ("a bundle with the former one", Some(both), true),
        ("unreadable", Some("no certificate".into()), true),
        ("another", Some(pem(&other)), false),
    ] {
        let (state, authorities) = judged("c", own.clone(), made_with);
        assert_eq!(authorities.is_some(), is_used, "{case}");
        let replaced = Certificates::Replaced("c-ca".into());
        assert_eq!(state == replaced, !is_used, "{case}: {state:?}");
    }
}
