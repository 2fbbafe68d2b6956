//! Orphaned claims of a store whose shards fail by rule.

use std::collections::HashSet;

use super::*;
use crate::error::{Error, Kind};

#[derive(Default)]
struct Fake {
    /// Groups that do not answer, and how long they take not to.
    away: Mutex<HashSet<u64>>,
    given_back: Mutex<Vec<String>>,
    /// Claims that are not there yet.
    absent: Mutex<HashSet<String>>,
    tries: Mutex<usize>,
}

impl GiveBack for Fake {
    async fn give_back(&self, orphan: &Orphan) -> Result<GivenBack> {
        *self.tries.lock().unwrap() += 1;
        let (key, group) = (orphan.identity.key().as_str(), self.group(&orphan.identity));
        if self.away.lock().unwrap().contains(&group) {
            sleep(Duration::from_secs(5)).await;
            return Err(Error::new(Kind::Unavailable, "away"));
        }
        if self.absent.lock().unwrap().contains(key) {
            return Ok(GivenBack::Absent);
        }
        self.given_back.lock().unwrap().push(key.to_owned());
        Ok(GivenBack::Done)
    }

    /// By the first letter of the key.
    fn group(&self, identity: &Identity) -> u64 {
        u64::from(identity.key().as_str().as_bytes()[0])
    }
}

impl Fake {
    fn given_back(&self) -> Vec<String> {
        let mut keys = self.given_back.lock().unwrap().clone();
        keys.sort();
        keys
    }
}

fn orphan(key: &str) -> Orphan {
    Orphan {
        identity: Identity::parse("t", "s@1", key).unwrap(),
        nonce: Nonce::fresh(),
        lease: Duration::from_secs(30),
        arrives_until: Instant::now() + Duration::from_secs(5),
    }
}

fn orphans() -> (Arc<Fake>, Orphans<Fake>) {
    let fake = Arc::new(Fake::default());
    let orphans = Orphans::new(&fake, 4);
    (fake, orphans)
}

async fn seconds(count: u64) {
    sleep(Duration::from_secs(count)).await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_heard_of_is_given_back_and_the_rest_is_not() {
    let (fake, orphans) = orphans();
    let claims = |keys: [&str; 2]| keys.map(orphan).to_vec();
    orphans.unheard(claims(["a", "b"])).heard();
    let refused = Error::new(Kind::Unavailable, "no answer");
    orphans
        .unheard(claims(["c", "d"]))
        .heard_of(&[Ok(()), Err(refused)]);
    drop(orphans.unheard(claims(["e", "f"])));
    seconds(1).await;
    assert_eq!(fake.given_back(), ["d", "e", "f"]);
    assert_eq!(format!("{orphans:?}"), "Orphans(0 wait)");
}

#[tokio::test(start_paused = true)]
async fn a_shard_that_is_away_holds_up_no_other() {
    let (fake, orphans) = orphans();
    fake.away.lock().unwrap().insert(u64::from(b'a'));
    for n in 0..500 {
        orphans.add(orphan(&format!("a{n}")));
    }
    orphans.add(orphan("b"));
    orphans.add(orphan("c"));
    seconds(1).await;
    assert_eq!(fake.given_back(), ["b", "c"]);
    seconds(10).await;
    orphans.add(orphan("b2"));
    seconds(1).await;
    assert_eq!(fake.given_back(), ["b", "b2", "c"]);
    // One at a time asks whether the shard is back.
    assert!(*fake.tries.lock().unwrap() < 10);
    fake.away.lock().unwrap().clear();
    seconds(10).await;
    assert_eq!(fake.given_back().len(), 503);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_still_on_its_way_is_looked_for_until_it_cannot_arrive() {
    let (fake, orphans) = orphans();
    for key in ["late", "never"] {
        fake.absent.lock().unwrap().insert(key.to_owned());
        orphans.add(orphan(key));
    }
    seconds(4).await;
    fake.absent.lock().unwrap().remove("late");
    seconds(6).await;
    assert_eq!(fake.given_back(), ["late"]);
    seconds(10).await;
    assert_eq!(format!("{orphans:?}"), "Orphans(0 wait)");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_for_ever_and_the_count_is_bounded() {
    let (fake, orphans) = orphans();
    fake.away.lock().unwrap().insert(u64::from(b'a'));
    let orphan = orphan("a");
    for _ in 0..ORPHANS_MAX + 10 {
        orphans.add(orphan.clone());
    }
    assert_eq!(
        format!("{orphans:?}"),
        format!("Orphans({ORPHANS_MAX} wait)")
    );
    seconds(60).await;
    assert_eq!(format!("{orphans:?}"), "Orphans(0 wait)");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_gone_leaves_no_task_behind() {
    let (fake, orphans) = orphans();
    fake.away.lock().unwrap().insert(u64::from(b'a'));
    orphans.add(orphan("a"));
    seconds(1).await;
    drop(fake);
    seconds(20).await;
    assert_eq!(format!("{orphans:?}"), "Orphans(0 wait)");
}
