//! How far sources have been received: with their messages, per partition, by one reader at a time.

use std::collections::BTreeMap;

use semel_core::inbox::{Arrivals, BATCH_MAX, Progress, Receipt, Taken};
use semel_core::{Kind, Result};
use tokio::task::JoinSet;

use super::subject::Subject;
use super::values::only;

/// The name of a source that no other test has.
fn source(s: &Subject) -> String {
    s.consumer().to_string()
}

async fn take(s: &Subject, partitions: &[&str]) -> Vec<Taken> {
    let names = partitions.iter().map(|name| (*name).to_owned()).collect();
    let taken = s.inbox().take_positions(source(s), names).await;
    taken.expect("the inbox answers")
}

async fn take_one(s: &Subject, partition: &str) -> Taken {
    only(take(s, &[partition]).await)
}

/// Where a partition stands, which is taken by that.
async fn position(s: &Subject, partition: &str) -> Option<String> {
    take_one(s, partition).await.position
}

fn progress(s: &Subject, taken: &Taken, position: &str) -> Progress {
    Progress {
        source: source(s),
        partition: taken.partition.clone(),
        position: position.to_owned(),
        epoch: taken.epoch,
    }
}

/// The messages with these ids, with how far their source has come.
fn arrivals(s: &Subject, ids: &[&str], positions: Vec<Progress>) -> Arrivals {
    let messages = ids.iter().map(|id| s.message(id)).collect();
    Arrivals {
        positions,
        ..s.arrivals(messages)
    }
}

async fn receive(s: &Subject, ids: &[&str], positions: Vec<Progress>) -> Result<Vec<Receipt>> {
    s.inbox().receive(arrivals(s, ids, positions)).await
}

/// After a restart a source goes on where its messages are durable: not before, not behind.
pub async fn the_position_of_a_source_is_kept_with_its_messages(s: Subject) {
    assert_eq!(position(&s, "").await, None);
    for at in ["line 1", "line 2"] {
        let owner = take_one(&s, "").await;
        let received = receive(&s, &["a"], vec![progress(&s, &owner, at)]).await;
        only(received.expect("the inbox answers"));
        assert_eq!(position(&s, "").await.as_deref(), Some(at));
    }
    let owner = take_one(&s, "").await;
    let mut foreign = arrivals(&s, &[], vec![progress(&s, &owner, "line 3")]);
    foreign.messages = vec![s.beside("-other", 1).message("foreign")];
    s.inbox().receive(foreign).await.expect_err("refused");
    assert_eq!(position(&s, "").await.as_deref(), Some("line 2"));
}

/// A source may have passed over what is no message.
pub async fn a_position_moves_without_messages(s: Subject) {
    let owner = take_one(&s, "").await;
    let received = receive(&s, &[], vec![progress(&s, &owner, "line 9")]).await;
    assert_eq!(received.expect("the inbox answers"), []);
    assert_eq!(position(&s, "").await.as_deref(), Some("line 9"));
}

/// A process that lost its partition to another one overwrites nothing, however late it comes.
pub async fn a_newer_reader_fences_the_older(s: Subject) {
    let older = take_one(&s, "3").await;
    let moved = receive(&s, &["a"], vec![progress(&s, &older, "10")]).await;
    only(moved.expect("its owner moves it"));
    let newer = take_one(&s, "3").await;
    assert!(newer.epoch > older.epoch, "{newer:?} after {older:?}");
    assert_eq!(newer.position.as_deref(), Some("10"));
    for _ in 0..2 {
        let late = receive(&s, &["b"], vec![progress(&s, &older, "11")]).await;
        let error = late.expect_err("a newer reader owns it");
        assert_eq!(error.kind(), Kind::Fenced, "{error}");
        assert!(!error.is_retryable());
        assert!(error.to_string().contains(&source(&s)), "{error}");
    }
    let moved = receive(&s, &["b"], vec![progress(&s, &newer, "12")]).await;
    only(moved.expect("its owner moves it"));
    assert_eq!(position(&s, "3").await.as_deref(), Some("12"));
    assert_eq!(s.process_all().await, ["a", "b"]);
}

/// One partition that was lost refuses the call: neither its messages nor the other partitions of the call move.
pub async fn a_refused_receive_stores_nothing(s: Subject) {
    let (kept, lost) = (take_one(&s, "1").await, take_one(&s, "2").await);
    take_one(&s, "2").await;
    for order in [[&kept, &lost], [&lost, &kept]] {
        let positions = order.map(|taken| progress(&s, taken, "7")).to_vec();
        let refused = receive(&s, &["a", "b"], positions).await;
        let error = refused.expect_err("a newer reader owns one of them");
        assert_eq!(error.kind(), Kind::Fenced, "{error}");
    }
    assert_eq!(s.ids().await, [""; 0]);
    s.nothing_is_due().await;
    let moved = receive(&s, &["a"], vec![progress(&s, &kept, "8")]).await;
    only(moved.expect("what is kept still has its owner"));
    assert_eq!(position(&s, "1").await.as_deref(), Some("8"));
    assert_eq!(position(&s, "2").await, None);
}

/// Partitions of one source, and sources with partitions of the same names, know nothing of each other.
pub async fn positions_of_partitions_are_apart(s: Subject) {
    let other = s.beside("-other", 1);
    let names = ["b", "", "a", "orders/1 é"];
    let taken = take(&s, &names).await;
    let found: Vec<&str> = taken.iter().map(|taken| &*taken.partition).collect();
    assert_eq!(found, names, "answers come in the order asked");
    let others = take(&other, &names).await;
    let positions = |s: &Subject, taken: &[Taken], mark: &str| -> Vec<Progress> {
        let at = |taken: &Taken| format!("{mark} {}", taken.partition);
        let moved = taken.iter().map(|taken| progress(s, taken, &at(taken)));
        moved.collect()
    };
    for (s, taken, mark) in [(&s, &taken, "this"), (&other, &others, "other")] {
        let received = receive(s, &["m"], positions(s, taken, mark)).await;
        received.expect("the inbox answers");
    }
    // A newer reader of one partition leaves the others to their owner.
    take_one(&s, "a").await;
    let rest: Vec<Taken> = taken.into_iter().filter(|t| t.partition != "a").collect();
    let received = receive(&s, &[], positions(&s, &rest, "later")).await;
    received.expect("the inbox answers");
    for (s, name, expected) in [
        (&s, "a", "this a"),
        (&s, "b", "later b"),
        (&s, "", "later "),
        (&other, "a", "other a"),
        (&other, "b", "other b"),
    ] {
        assert_eq!(position(s, name).await.as_deref(), Some(expected));
    }
}

/// A reader that has not taken a position does not move it.
pub async fn a_position_is_moved_by_its_owner_only(s: Subject) {
    let untaken = |epoch| Taken {
        partition: "1".to_owned(),
        position: None,
        epoch,
    };
    for (epoch, expected) in [(0, Kind::Invalid), (1, Kind::Fenced), (7, Kind::Fenced)] {
        let refused = receive(&s, &["a"], vec![progress(&s, &untaken(epoch), "1")]).await;
        let error = refused.expect_err("it was never taken");
        assert_eq!(error.kind(), expected, "{epoch}: {error}");
    }
    let owner = take_one(&s, "1").await;
    let ahead = receive(
        &s,
        &["a"],
        vec![progress(&s, &untaken(owner.epoch + 1), "1")],
    )
    .await;
    assert_eq!(ahead.expect_err("ahead of all").kind(), Kind::Fenced);
    assert!(s.detail("a").await.is_none());
    assert_eq!(position(&s, "1").await, None);
}

/// Every list and every text has a limit.
pub async fn positions_are_bounded(s: Subject) {
    let many: Vec<String> = (0..=BATCH_MAX).map(|n| n.to_string()).collect();
    let refused = s.inbox().take_positions(source(&s), many.clone()).await;
    assert_eq!(refused.expect_err("too many").kind(), Kind::Limit);
    let twice = vec!["1".to_owned(), "1".to_owned()];
    let refused = s.inbox().take_positions(source(&s), twice).await;
    assert_eq!(refused.expect_err("named twice").kind(), Kind::Invalid);
    let none = s.inbox().take_positions(source(&s), Vec::new()).await;
    assert_eq!(none.expect("the inbox answers"), []);
    let all = s.inbox().take_positions(source(&s), many[1..].to_vec());
    let all = all.await.expect("within the limit");
    let moved: Vec<Progress> = all.iter().map(|taken| progress(&s, taken, "1")).collect();
    receive(&s, &["a"], moved.clone()).await.expect("within it");
    let mut long = moved[0].clone();
    long.position = "x".repeat(10_000);
    let refused = receive(&s, &["b"], vec![long]).await;
    assert_eq!(refused.expect_err("too long").kind(), Kind::Limit);
    let twice = vec![moved[0].clone(), moved[0].clone()];
    let refused = receive(&s, &["b"], twice).await;
    assert_eq!(refused.expect_err("named twice").kind(), Kind::Invalid);
    assert!(s.detail("b").await.is_none());
}

/// Processes that take the same partitions from each other all the time: each call has all of its effects or none, and the positions are those of
/// the last owner that moved them.
pub async fn readers_that_race_leave_what_the_last_owner_has_moved(s: Subject) {
    let mut readers = JoinSet::new();
    for reader in 0..4 {
        let s = s.clone();
        readers.spawn(async move {
            let mut moved = BTreeMap::new();
            for round in 0..15 {
                // In opposite orders, as two processes may name them.
                let names = match reader % 2 {
                    0 => ["1", "2"],
                    _ => ["2", "1"],
                };
                let taken = take(&s, &names).await;
                let id = format!("{reader}-{round}");
                // Some are slow, so that others take the positions meanwhile.
                for _ in 0..reader {
                    s.detail(&id).await;
                }
                let all = taken.iter().map(|taken| progress(&s, taken, &id)).collect();
                match receive(&s, &[&id], all).await {
                    Ok(_) => {
                        let epochs = taken
                            .into_iter()
                            .map(|t| ((t.partition, t.epoch), id.clone()));
                        moved.extend(epochs);
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), Kind::Fenced, "{error}");
                        assert!(s.detail(&id).await.is_none(), "{id} was refused");
                    }
                }
            }
            moved
        });
    }
    let mut moved = BTreeMap::new();
    while let Some(ended) = readers.join_next().await {
        moved.extend(ended.expect("the reader ends well"));
    }
    for name in ["1", "2"] {
        let last = moved.iter().rfind(|((partition, _), _)| partition == name);
        let last = last.map(|(_, id)| id.clone());
        assert_eq!(position(&s, name).await, last, "{name}");
    }
    let mut stored: Vec<String> = moved.into_values().collect();
    stored.sort_unstable();
    stored.dedup();
    assert_eq!(s.ids().await, stored);
}

/// What a source has come to, and whose it is, outlives the process.
pub async fn positions_and_their_owners_survive_reopening(s: Subject) {
    let older = take_one(&s, "3").await;
    let owner = take_one(&s, "3").await;
    let moved = receive(&s, &["a"], vec![progress(&s, &owner, "10")]).await;
    moved.expect("its owner moves it");
    let s = s.reopened().await;
    let refused = receive(&s, &["b"], vec![progress(&s, &older, "9")]).await;
    assert_eq!(refused.expect_err("fenced before").kind(), Kind::Fenced);
    // A connection that broke and came back is still the owner.
    let moved = receive(&s, &["b"], vec![progress(&s, &owner, "11")]).await;
    moved.expect("its owner moves it");
    let s = s.reopened().await;
    let next = take_one(&s, "3").await;
    assert_eq!(next.position.as_deref(), Some("11"));
    assert!(next.epoch > owner.epoch, "{next:?} after {owner:?}");
    assert_eq!(s.ids().await, ["a", "b"]);
}
