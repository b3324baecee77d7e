//! The life of a cluster of simulated machines, whose manager reaches its API server through a proxy: events come late, watches end,
//! lists are old by the time they come, and at one write the manager is killed. Whatever that does, the life ends as it does undisturbed.

mod life;
pub mod proxy;

use crate::perturbed::life::Life;
use crate::perturbed::proxy::{Lost, Proxy};
use crate::simulated::site::Site;
use crate::support::dice::Dice;

/// So many lives are disturbed, at one of so many writes, unless `EVERY=1` asks for each. A life has a few more.
const LIVES: usize = 10;
const WRITES: usize = 80;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a management plane"]
async fn a_life_that_is_cut_off_at_a_write_ends_as_one_that_is_not() {
    let mut site = Site::new().await;
    let proxy = site.go_through_proxy().await;
    let expected = Life::new(&site, "undisturbed").live(None).await;
    let writes = proxy.writes();
    println!("{writes} writes of the manager; the end:\n{expected}");
    for (at, lost) in cuts(writes) {
        let begun = std::time::Instant::now();
        let name = format!("cut-at-{at}-{}", format!("{lost:?}").to_lowercase());
        proxy.perturb(u64::try_from(at).expect("few"), Some((at, lost)));
        let life = Life::new(&site, &name);
        let end = tokio::select! {
            end = life.live(Some(&expected)) => end,
            () = replaces(&mut site, &proxy) => unreachable!("it is replaced once"),
        };
        assert_eq!(end, expected, "{name}");
        println!("{name}: {:.1} s", begun.elapsed().as_secs_f64());
    }
}

/// Where lives are cut off.
fn cuts(writes: usize) -> Vec<(usize, Lost)> {
    let both = [Lost::Request, Lost::Answer];
    if std::env::var("EVERY").is_ok_and(|every| every == "1") {
        return (1..=writes)
            .flat_map(|at| both.map(|lost| (at, lost)))
            .collect();
    }
    let mut dice = Dice::new(1);
    let mut cut = |which: usize| (1 + dice.roll(WRITES), both[which % 2]);
    (0..LIVES).map(&mut cut).collect()
}

/// Once all is cut off, the manager is killed, and another one started.
async fn replaces(site: &mut Site, proxy: &Proxy) {
    proxy.cut().await;
    site.stop_manager();
    proxy.mend();
    site.restart_manager();
    std::future::pending::<()>().await;
}
