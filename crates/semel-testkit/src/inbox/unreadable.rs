//! What a source delivers and no rule can read: kept for people with its bytes, in the way of nothing.

use semel_core::inbox::{
    Action, Baseline, Cause, Message, OnGap, OnTerminal, Order, Query, Receipt, State,
};

use super::receiving::rich;
use super::seen::{duplicate, stored};
use super::subject::Subject;
use super::values::{id, key};

const REASON: &str = "no id at $.id";
const RETRY: Action = Action::Retry { new_key: false };

fn unreadable(s: &Subject, id: &str) -> Message {
    rich(s, id).as_unreadable(REASON)
}

/// Its bytes, headers and coordinates are there, and so is the reason: in lists, in its detail and in its history.
pub async fn what_cannot_be_read_is_kept_among_the_dead_letters(s: Subject) {
    s.received(&["readable"]).await;
    let receipts = s.receive(vec![unreadable(&s, "m"), s.message("next")]);
    let expected = [stored(State::Parked), stored(State::Received)];
    assert_eq!(receipts.await, expected);
    s.is_parked("m", Cause::Unreadable).await;
    let detail = s.detail("m").await.expect("known");
    let (kept, sent) = (detail.message.expect("kept"), unreadable(&s, "m"));
    assert_eq!(kept.payload(), sent.payload());
    assert_eq!(kept.headers(), sent.headers());
    assert_eq!(kept.origin(), sent.origin());
    assert_eq!((kept.lane(), kept.sequence()), (None, None));
    let history = detail
        .transitions
        .iter()
        .map(|t| (t.to, t.cause, t.detail.as_deref()));
    let parked = (State::Parked, Some(Cause::Unreadable), Some(REASON));
    assert_eq!(history.collect::<Vec<_>>(), [parked]);
    for (states, cause) in [
        (vec![State::FailedTerminal, State::Parked], None),
        (Vec::new(), Some(Cause::Unreadable)),
    ] {
        let query = Query {
            states,
            cause,
            ..Query::default()
        };
        let found = s.list(query).await;
        let found: Vec<_> = found
            .iter()
            .map(|e| (e.identity.key().as_str(), e.error.as_deref()))
            .collect();
        assert_eq!(found, [("m", Some(REASON))]);
    }
    assert_eq!(s.counts().await.parked, 1);
    assert_eq!(s.process_all().await, ["readable", "next"]);
}

/// A source may deliver it again and again, until it is acknowledged.
pub async fn what_cannot_be_read_is_stored_once(s: Subject) {
    let batch = vec![unreadable(&s, "m"), unreadable(&s, "m")];
    let expected = [stored(State::Parked), duplicate(State::Parked)];
    assert_eq!(s.receive(batch).await, expected);
    let again = s
        .receive_one(unreadable(&s, "m").as_unreadable("other words"))
        .await;
    assert_eq!(again, duplicate(State::Parked));
    // Also when a rule that can read it finds the same id.
    assert_eq!(s.receive_one(rich(&s, "m")).await, duplicate(State::Parked));
    let entry = s.entry("m").await;
    assert_eq!(
        (entry.duplicates, entry.error.as_deref()),
        (3, Some(REASON))
    );
    assert_eq!(s.ids().await, ["m"]);
}

/// What would stand behind it in a lane runs, whatever the order.
pub async fn what_cannot_be_read_holds_up_nothing(s: Subject) {
    let on_terminal = OnTerminal::Park;
    let by_sequence = Order::Sequence {
        baseline: Baseline::FirstSeen,
        on_gap: OnGap::default(),
        on_terminal,
    };
    let orders = [Order::None, Order::Arrival { on_terminal }, by_sequence];
    for (n, order) in orders.into_iter().enumerate() {
        let s = s.beside(&format!("-{n}"), 1).ordered(order);
        let next = s.in_lane("account-7", "next").with_sequence(6);
        let batch = vec![unreadable(&s, "m"), next.expect("a small version")];
        let expected = [stored(State::Parked), stored(State::Received)];
        assert_eq!(s.receive(batch).await, expected, "{order:?}");
        assert_eq!(s.process_all().await, ["next"], "{order:?}");
        assert_eq!(s.operate(RETRY, &["m"]).await.changed, 1, "{order:?}");
        assert_eq!(s.process_all().await, ["m"], "{order:?}");
        let after = s.in_lane("account-7", "after").with_sequence(7);
        s.stored(vec![after.expect("a small version")]).await;
        assert_eq!(s.process_all().await, ["after"], "{order:?}");
    }
}

/// An operator who has put the handler right lets it have the bytes.
pub async fn what_could_not_be_read_is_delivered_as_it_is_after_a_retry(s: Subject) {
    for (action, name) in [(RETRY, "retried"), (Action::Unpark, "unparked")] {
        s.receive_one(unreadable(&s, name)).await;
        s.nothing_is_due().await;
        assert_eq!(s.operate(action, &[name]).await.changed, 1, "{name}");
        let job = s.claim_one().await;
        assert_eq!((id(&job).as_str(), job.attempt), (name, 1));
        let sent = unreadable(&s, name);
        assert_eq!(job.message.payload(), sent.payload());
        assert_eq!(job.message.headers(), sent.headers());
        s.complete(&job).await;
        assert_eq!(s.outcome(name).await, format!("done {name}"));
        let again = s.receive_one(unreadable(&s, name)).await;
        assert_eq!(again, duplicate(State::Completed));
    }
}

/// An operator who does not need it settles its record.
pub async fn what_cannot_be_read_is_dealt_with_by_a_skip(s: Subject) {
    s.receive_one(unreadable(&s, "m")).await;
    s.is_parked("m", Cause::Unreadable).await;
    assert_eq!(s.operate(Action::Skip, &["m"]).await.changed, 1);
    s.is("m", State::SkippedDuplicate).await;
    assert!(s.record("m").await.is_some());
    let again = s.receive_one(unreadable(&s, "m")).await;
    assert_eq!(again, duplicate(State::SkippedDuplicate));
    s.nothing_is_due().await;
}

/// Coordinates that repeat with other bytes, as those of a topic that was made anew, lose nothing.
pub async fn what_cannot_be_read_under_a_known_id_is_a_conflict_with_its_reason(s: Subject) {
    s.processed(&["m"]).await;
    let other = s
        .message_of("m", "{")
        .with_lane(key("lane"))
        .as_unreadable(REASON);
    assert_eq!(s.receive_one(other.clone()).await, Receipt::Conflict);
    let id = other.as_conflict().identity().key().to_string();
    s.is_parked(&id, Cause::Conflict).await;
    assert_eq!(s.entry(&id).await.error.as_deref(), Some(REASON));
    s.nothing_is_due().await;
}
