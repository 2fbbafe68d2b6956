//! Several readers of one group, and connections that break.

use std::collections::BTreeSet;
use std::time::Duration;

use semel_inbox::source::Settle;
use tokio::time::{Instant, sleep, timeout};

use super::reader::{MUCH, PATIENCE, Reader, id};
use super::{Ability, Subject};
use crate::proxy::Proxy;

/// Two readers get everything between them, and after they have ended nothing is left.
pub async fn two_readers_share_what_there_is(s: Subject) {
    let (mut one, mut two) = (s.reader().await, s.reader().await);
    let published = s.publish_many(200).await;
    let mut seen = BTreeSet::new();
    let until = Instant::now() + PATIENCE;
    while seen.len() < published.len() {
        for reader in [&mut one, &mut two] {
            let found = reader.next_within(MUCH, Duration::from_millis(200)).await;
            reader.settle(&found, Settle::Ack).await;
            seen.extend(found.iter().map(id));
        }
        let found = seen.len();
        assert!(Instant::now() < until, "200 expected, found {found}");
    }
    one.close().await;
    two.close().await;
    let mut last = s.reader().await;
    let left = last.drain(s.broker.term() * 2).await;
    assert_eq!(left, Vec::<String>::new(), "all was acknowledged");
    last.close().await;
}

/// A reader that ends well leaves what it has not settled to the others, soon.
pub async fn a_reader_that_leaves_hands_over_what_it_has_not_settled(s: Subject) {
    let published = s.publish_many(20).await;
    let mut leaving = s.reader().await;
    let taken = leaving.take(20).await;
    let (done, open): (Vec<_>, Vec<_>) = taken.into_iter().partition(|d| id(d) < published[8]);
    leaving.settle(&done, Settle::Ack).await;
    leaving.settle(&open, Settle::Back(Duration::ZERO)).await;
    let mut staying = s.reader().await;
    leaving.close().await;
    let mut again: Vec<String> = Vec::new();
    let until = Instant::now() + PATIENCE;
    while again.len() < open.len() {
        let found = staying.next_within(MUCH, Duration::from_secs(1)).await;
        staying.settle(&found, Settle::Ack).await;
        again.extend(found.iter().map(id));
        assert!(Instant::now() < until, "{} of 12 came again", again.len());
    }
    again.sort_unstable();
    assert_eq!(again, published[8..]);
    staying.close().await;
}

/// The broker says how much waits.
pub async fn what_waits_at_the_broker_is_counted(s: Subject) {
    if !s.can(Ability::Lag) {
        return;
    }
    // The group exists before anything is published, so that the broker can count for it.
    let mut reader = s.reader().await;
    s.publish_many(7).await;
    let found = reader.take(7).await;
    reader.settle(&found, Settle::Ack).await;
    lag_is(&reader, |lag| lag == 0).await;
    reader.close().await;
    s.publish_many(5).await;
    let reader = s.reader().await;
    lag_is(&reader, |lag| lag >= 1).await;
    reader.close().await;
}

async fn lag_is(reader: &Reader, fits: impl Fn(u64) -> bool + Send + Sync) {
    let until = Instant::now() + PATIENCE;
    loop {
        let facts = reader.source.facts().await;
        let lag = facts.ok().and_then(|facts| facts.lag);
        if lag.is_some_and(&fits) {
            return;
        }
        assert!(Instant::now() < until, "the lag stays {lag:?}");
        sleep(Duration::from_millis(200)).await;
    }
}

/// Connections that break in the middle of things cost time and duplicates, and no message.
pub async fn a_cut_connection_loses_nothing(s: Subject) {
    if !s.can(Ability::Proxy) {
        return;
    }
    let proxy = Proxy::start(s.broker.addr()).await;
    let mut reader = Reader::open(s.broker.source_through(proxy.addr())).await;
    let published = s.publish_many(300).await;
    let mut seen = BTreeSet::new();
    let until = Instant::now() + PATIENCE * 2;
    let mut turn = 0;
    while seen.len() < published.len() {
        turn += 1;
        if turn % 4 == 2 && turn < 20 {
            proxy.cut_after(200);
        }
        if turn == 7 {
            proxy.cut_all();
        }
        let want = semel_inbox::source::Want { count: 40, ..MUCH };
        let found = reader.next_within(want, Duration::from_secs(2)).await;
        // What cannot be acknowledged comes again; here it only matters that it came.
        let items = found
            .iter()
            .map(|delivery| (delivery.handle.clone(), Settle::Ack));
        let _ = reader.source.settle(items.collect()).await;
        seen.extend(found.iter().map(id));
        let found = seen.len();
        assert!(Instant::now() < until, "300 expected, found {found}");
    }
    // What was read ahead may all be here before the proxy does what it was told.
    while proxy.counts().cut == 0 {
        assert!(Instant::now() < until, "nothing was cut");
        sleep(Duration::from_millis(20)).await;
    }
    reader.close().await;
}

/// A broker that answers nothing for longer than its leases last costs time and duplicates, and no message.
pub async fn a_broker_that_stands_still_loses_nothing(s: Subject) {
    if !s.can(Ability::Proxy) {
        return;
    }
    let proxy = Proxy::start(s.broker.addr()).await;
    let mut reader = Reader::open(s.broker.source_through(proxy.addr())).await;
    let published = s.publish_many(60).await;
    let mut seen = BTreeSet::new();
    let taken = reader.take(20).await;
    seen.extend(taken.iter().map(id));
    proxy.stall();
    // It may fail or hang, as long as it can be dropped.
    let items = taken.into_iter().map(|one| (one.handle, Settle::Ack));
    let _ = timeout(s.broker.term(), reader.source.settle(items.collect())).await;
    let buffered = reader.next_within(MUCH, s.broker.term()).await;
    seen.extend(buffered.iter().map(id));
    proxy.resume();
    let until = Instant::now() + PATIENCE;
    while seen.len() < published.len() {
        let found = reader.next_within(MUCH, Duration::from_secs(1)).await;
        reader.settle(&found, Settle::Ack).await;
        seen.extend(found.iter().map(id));
        let found = seen.len();
        assert!(Instant::now() < until, "60 expected, found {found}");
    }
    reader.close().await;
}
