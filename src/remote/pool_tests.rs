use super::super::sshd::Sshd;
use super::*;

fn kept(pool: &Pool) -> usize {
    pool.lock().kept.len()
}

#[tokio::test]
async fn a_place_that_is_forgotten_while_it_is_contacted_stays_so() {
    let sshd = Sshd::closed().await;
    let (pool, target) = (Pool::new(), sshd.target());
    let forget = async {
        sshd.asked().await;
        pool.forget(&target.place());
        sshd.open();
    };
    let (session, ()) = tokio::join!(pool.session(&target), forget);
    assert!(session.is_ok());
    assert_eq!(kept(&pool), 0);
    // one that begins after that is kept
    assert!(pool.session(&target).await.is_ok());
    assert_eq!(kept(&pool), 1);
}

#[tokio::test]
async fn a_session_that_nobody_uses_for_an_hour_is_closed() {
    let (first, second) = (Sshd::closed().await, Sshd::closed().await);
    first.open();
    second.open();
    let pool = Pool::new();
    assert!(pool.session(&first.target()).await.is_ok());
    let place = first.target().place();
    if let Some((_, used)) = pool.lock().kept.get_mut(&place) {
        *used -= IDLE + Duration::from_secs(1);
    }
    assert!(pool.session(&second.target()).await.is_ok());
    assert_eq!(kept(&pool), 1);
    assert!(!pool.lock().kept.contains_key(&place));
}
