//! How deliveries are answered, and what comes again.

use std::time::Duration;

use semel_inbox::source::{Handle, Settle, Settled};
use tokio::time::{Instant, sleep};

use super::reader::{MUCH, PATIENCE, id, ids};
use super::{Ability, Subject};

/// After this long a reader that crashed is given up by any broker of the suite.
fn given_up(s: &Subject) -> Duration {
    s.broker.term() * 3 + Duration::from_secs(2)
}

/// What was acknowledged stays so over the end of its reader; the rest comes to the next one.
pub async fn what_is_acknowledged_does_not_come_again(s: Subject) {
    let published = s.publish_many(10).await;
    let mut reader = s.reader().await;
    let found = reader.take(10).await;
    let (done, open): (Vec<_>, Vec<_>) = found.into_iter().partition(|d| id(d) < published[5]);
    let settled = reader.settle(&done, Settle::Ack).await;
    assert_eq!(settled, vec![Settled::Done; 5]);
    drop(open);
    reader.close().await;
    let mut next = s.reader().await;
    let mut again = next.drain(given_up(&s)).await;
    again.sort_unstable();
    assert_eq!(again, published[5..]);
    next.close().await;
}

/// What was delivered and not acknowledged comes again when its reader has crashed, as the same message.
pub async fn what_is_not_acknowledged_comes_again_after_a_crash(s: Subject) {
    let published = s.publish_many(3).await;
    let mut reader = s.reader().await;
    let first = reader.take(3).await;
    reader.crash();
    let mut next = s.reader().await;
    let again = next.take(3).await;
    assert_eq!(ids(&again), published);
    for delivery in &again {
        let mut before = first.iter().filter(|known| id(known) == id(delivery));
        let before = before.next().expect("it was delivered before");
        assert_eq!(delivery.raw.coordinates, before.raw.coordinates);
        assert_eq!(delivery.raw.payload, before.raw.payload);
        if let (Some(now), Some(then)) = (delivery.raw.deliveries, before.raw.deliveries) {
            assert!(now >= then, "deliveries are counted: {then}, then {now}");
        }
    }
    next.settle(&again, Settle::Ack).await;
    next.close().await;
}

/// One message in the middle that is not acknowledged comes again, whatever was acknowledged after it.
pub async fn acknowledgements_out_of_order_never_pass_over_a_hole(s: Subject) {
    let published = s.publish_many(10).await;
    let hole = &published[3];
    let mut reader = s.reader().await;
    let mut found = reader.take(10).await;
    found.retain(|delivery| id(delivery) != *hole);
    for delivery in found.into_iter().rev() {
        let settled = reader.settle(&[delivery], Settle::Ack).await;
        assert_eq!(settled, [Settled::Done]);
    }
    // Long enough for whatever commits in the background.
    sleep(Duration::from_secs(1)).await;
    reader.crash();
    let mut next = s.reader().await;
    let again = next.drain(given_up(&s)).await;
    assert!(
        again.contains(hole),
        "{hole} was passed over; {again:?} came again"
    );
    next.close().await;
}

/// A handle that means nothing to the source is gone, and touches none of the others.
pub async fn each_delivery_is_settled_by_itself(s: Subject) {
    s.publish(&["a", "b"]).await;
    let mut reader = s.reader().await;
    let found = reader.take(2).await;
    let handles = [
        found[0].handle.clone(),
        Handle::new("a handle of another source"),
        found[1].handle.clone(),
    ];
    let settled = reader.settle_handles(&handles, Settle::Ack).await;
    assert_eq!(settled, [Settled::Done, Settled::Gone, Settled::Done]);
    reader.close().await;
    let mut next = s.reader().await;
    assert_eq!(next.drain(given_up(&s)).await, Vec::<String>::new());
    next.close().await;
}

/// A delivery that is extended in time stays with its reader for longer than its term.
pub async fn an_extended_delivery_is_kept(s: Subject) {
    if !s.can(Ability::Extend) {
        return;
    }
    s.publish(&["a"]).await;
    let (mut reader, term) = (s.reader().await, s.broker.term());
    let found = reader.take(1).await;
    let mut other = s.reader().await;
    let until = Instant::now() + term * 3;
    while Instant::now() < until {
        let settled = reader.settle(&found, Settle::Extend).await;
        assert_eq!(settled, [Settled::Done]);
        let stolen = other.next_within(MUCH, term / 4).await;
        assert!(
            stolen.is_empty(),
            "it was delivered elsewhere although it was extended"
        );
    }
    assert_eq!(reader.settle(&found, Settle::Ack).await, [Settled::Done]);
    reader.close().await;
    other.close().await;
}

/// A delivery that is not extended comes again; what its old reader says then changes nothing.
pub async fn an_expired_delivery_comes_again_and_its_late_answer_changes_nothing(s: Subject) {
    if !s.can(Ability::Expiry) {
        return;
    }
    s.publish(&["a"]).await;
    let mut reader = s.reader().await;
    let found = reader.take(1).await;
    sleep(s.broker.term() + Duration::from_millis(300)).await;
    let mut other = s.reader().await;
    let again = other.take(1).await;
    assert_eq!(ids(&again), ["a"]);
    if s.can(Ability::LateAnswers) {
        for how in [Settle::Extend, Settle::Ack] {
            assert_eq!(reader.settle(&found, how).await, [Settled::Gone], "{how:?}");
        }
    }
    assert_eq!(other.settle(&again, Settle::Ack).await, [Settled::Done]);
    reader.close().await;
    other.close().await;
}

/// What is given back comes again without its reader's end.
pub async fn what_is_given_back_comes_again(s: Subject) {
    if !s.can(Ability::GiveBack) {
        return;
    }
    s.publish(&["a", "b"]).await;
    let mut reader = s.reader().await;
    let found = reader.take(2).await;
    let settled = reader.settle(&found, Settle::Back(Duration::ZERO)).await;
    assert_eq!(settled, [Settled::Done; 2]);
    let again = reader.take(2).await;
    assert_eq!(ids(&again), ["a", "b"]);
    reader.settle(&again, Settle::Ack).await;
    reader.close().await;
}

/// A reader that does not ask for a while is still a member, and its deliveries are still its own.
pub async fn a_reader_that_takes_its_time_keeps_what_it_has(s: Subject) {
    s.publish(&["a"]).await;
    let (mut reader, term) = (s.reader().await, s.broker.term());
    let found = reader.take(1).await;
    let until = Instant::now() + term * 3;
    while Instant::now() < until {
        sleep(term / 4).await;
        reader.settle(&found, Settle::Extend).await;
    }
    assert_eq!(reader.settle(&found, Settle::Ack).await, [Settled::Done]);
    s.publish(&["b"]).await;
    let began = Instant::now();
    let found = reader.take(1).await;
    assert_eq!(ids(&found), ["b"]);
    assert!(began.elapsed() < PATIENCE);
    reader.settle(&found, Settle::Ack).await;
    reader.close().await;
}
