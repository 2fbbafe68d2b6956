//! What people see.

use std::time::Duration;

use semel_core::inbox::{Action, Cause, Query, State, Transition};

use super::subject::Subject;
use super::values::{AWHILE, LONG, key, only, parked, retry_after, short_lease, terminal};

fn ids(entries: &[semel_core::inbox::Entry]) -> Vec<String> {
    let ids = entries.iter().map(|entry| entry.identity.key().to_string());
    ids.collect()
}

/// Lists are asked for by state, cause and lane.
pub async fn lists_filter_by_state_cause_and_lane(s: Subject) {
    s.processed(&["done"]).await;
    for (id, disposition) in [("failed", terminal()), ("parked", parked())] {
        s.stored(vec![s.in_lane("x", id)]).await;
        let job = s.claim_one().await;
        s.finish(&job, disposition).await;
    }
    s.stored(vec![s.in_lane("y", "received")]).await;
    let all = Query::default();
    let queries = [
        (vec![State::Completed], None, None, vec!["done"]),
        (
            vec![State::Parked, State::FailedTerminal],
            None,
            None,
            vec!["parked", "failed"],
        ),
        (vec![], Some(Cause::Handler), None, vec!["parked"]),
        (vec![], None, Some(key("x")), vec!["parked", "failed"]),
        (vec![State::Received], None, Some(key("x")), vec![]),
        (
            vec![],
            None,
            None,
            vec!["received", "parked", "failed", "done"],
        ),
    ];
    for (states, cause, lane, expected) in queries {
        let query = Query {
            states,
            cause,
            lane,
            ..all.clone()
        };
        assert_eq!(ids(&s.list(query.clone()).await), expected, "{query:?}");
    }
}

/// Also a tenant's alone, and those that were received in a stretch of time.
pub async fn lists_filter_by_tenant_and_time(s: Subject) {
    let other = s.clone().of_tenant("globex");
    s.received(&["done"]).await;
    s.process_all().await;
    s.pass(AWHILE).await;
    other.received(&["later"]).await;
    let since = s.entry("done").await.received_at.after(AWHILE / 2);
    let of = |tenant: &str| Query {
        tenant: Some(tenant.parse().expect("a valid tenant")),
        ..Query::default()
    };
    let from = Query {
        from: Some(since),
        ..Query::default()
    };
    let until = Query {
        until: Some(since),
        ..Query::default()
    };
    for (query, expected) in [
        (of("public"), vec!["done"]),
        (of("globex"), vec!["later"]),
        (from, vec!["later"]),
        (until, vec!["done"]),
    ] {
        assert_eq!(ids(&s.list(query.clone()).await), expected, "{query:?}");
        // Those that are not completed are looked for in another way.
        let states = vec![State::Received];
        let waiting = s.list(Query { states, ..query }).await;
        let expected: Vec<_> = expected.into_iter().filter(|id| *id == "later").collect();
        assert_eq!(ids(&waiting), expected);
    }
}

/// An id is found whoever's it is, and everything else that is asked must hold as well.
pub async fn lists_find_an_id_of_every_tenant(s: Subject) {
    let other = s.clone().of_tenant("globex");
    s.processed(&["same"]).await;
    other.received(&["same"]).await;
    s.received(&["another"]).await;
    let same = Query {
        id: Some(key("same")),
        ..Query::default()
    };
    let tenants = |entries: Vec<semel_core::inbox::Entry>| {
        let own = entries.into_iter();
        let own = own.filter(|entry| entry.identity.scope() == s.consumer());
        own.map(|entry| entry.identity.tenant().to_string())
            .collect::<Vec<_>>()
    };
    let of_globex = Query {
        tenant: Some("globex".parse().expect("a valid tenant")),
        ..same.clone()
    };
    let done = Query {
        states: vec![State::Completed],
        ..same.clone()
    };
    let of_a_lane = Query {
        lane: Some(key("x")),
        ..same.clone()
    };
    for (query, expected) in [
        (same.clone(), vec!["globex", "public"]),
        (of_globex, vec!["globex"]),
        (done, vec!["public"]),
        (of_a_lane, vec![]),
    ] {
        assert_eq!(tenants(s.list(query.clone()).await), expected, "{query:?}");
        let of_all = s.inbox().list_messages(query).await.expect("an answer");
        assert_eq!(tenants(of_all.entries), expected);
    }
}

/// Pages follow each other without a gap or an overlap, the newest message first.
pub async fn lists_page_from_the_newest_to_the_oldest(s: Subject) {
    let all: Vec<String> = (0..25).map(|n| format!("m-{n:02}")).collect();
    s.stored(all.iter().map(|id| s.message(id)).collect()).await;
    let jobs = s.claim_as(s.ask(10)).await.jobs;
    for job in &jobs {
        s.complete(job).await;
    }
    let mut query = Query {
        consumer: Some(s.consumer().clone()),
        limit: 10,
        ..Query::default()
    };
    let mut found = Vec::new();
    let mut pages = Vec::new();
    loop {
        let page = s.inbox().list_messages(query.clone()).await;
        let page = page.expect("an answer");
        pages.push(page.entries.len());
        found.extend(ids(&page.entries));
        query.before = page.next;
        if page.next.is_none() {
            break;
        }
    }
    let newest_first: Vec<String> = all.into_iter().rev().collect();
    assert_eq!(found, newest_first);
    assert_eq!(pages, [10, 10, 5]);
}

/// A list without a consumer is of all of them.
pub async fn a_list_without_a_consumer_is_of_all(s: Subject) {
    let other = s.beside("-other", 1);
    s.received(&["m"]).await;
    other.received(&["m"]).await;
    let page = s.inbox().list_messages(Query::default()).await;
    let entries = page.expect("an answer").entries;
    for consumer in [s.consumer(), other.consumer()] {
        let own = |e: &&semel_core::inbox::Entry| e.identity.scope() == consumer;
        assert_eq!(entries.iter().filter(own).count(), 1);
    }
}

/// Counts tell how many messages are in which state, and since when the oldest waits.
pub async fn counts_tell_states_and_the_oldest_that_waits(s: Subject) {
    s.received(&["done"]).await;
    s.process_all().await;
    assert_eq!(s.counts().await.pending(), 0);
    assert_eq!(s.counts().await.oldest_pending, None);
    for (id, disposition) in [
        ("later", retry_after(LONG)),
        ("failed", terminal()),
        ("parked", parked()),
    ] {
        s.received(&[id]).await;
        let job = s.claim_one().await;
        s.finish(&job, disposition).await;
        s.pass(Duration::from_millis(5)).await;
    }
    s.received(&["skipped"]).await;
    s.operate(Action::Skip, &["skipped"]).await;
    s.received(&["running"]).await;
    s.claim_one().await;
    s.received(&["a", "b"]).await;
    let counts = s.counts().await;
    assert_eq!(
        (counts.received, counts.in_progress, counts.stale),
        (2, 1, 0)
    );
    assert_eq!((counts.failed_retryable, counts.failed_terminal), (1, 1));
    assert_eq!((counts.parked, counts.skipped, counts.pending()), (1, 1, 4));
    assert_eq!((counts.dead(), counts.at_least), (2, false));
    let oldest = s.entry("later").await.received_at;
    assert_eq!(counts.oldest_pending, Some(oldest));
}

/// A worker that is lost is seen before anybody takes its message.
pub async fn a_lost_worker_is_counted_as_stale(s: Subject) {
    s.received(&["m"]).await;
    let mut ask = s.ask(1);
    ask.lease = short_lease();
    s.claim_as(ask).await;
    s.pass(AWHILE).await;
    let counts = s.counts().await;
    assert_eq!((counts.in_progress, counts.stale), (1, 1));
}

/// Every change of state is there with its cause, in the order in which it happened.
pub async fn the_timeline_has_every_transition_with_its_cause(s: Subject) {
    let pause = Duration::from_millis(5);
    s.received(&["m"]).await;
    s.pass(pause).await;
    let job = s.claim_one().await;
    s.pass(pause).await;
    s.finish(&job, retry_after(Duration::ZERO)).await;
    s.pass(pause).await;
    let job = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    drop(job);
    let job = s.claim_one().await;
    s.pass(pause).await;
    s.finish(&job, terminal()).await;
    s.pass(pause).await;
    s.operate(Action::Retry { new_key: false }, &["m"]).await;
    s.pass(Duration::from_millis(20)).await;
    let job = s.claim_one().await;
    s.pass(Duration::from_millis(20)).await;
    s.complete(&job).await;
    let timeline = s.detail("m").await.expect("known").timeline();
    let found: Vec<_> = timeline.iter().map(|t| (t.to, t.cause)).collect();
    let expected = [
        (State::Received, None),
        (State::InProgress, None),
        (State::FailedRetryable, Some(Cause::Retryable)),
        (State::InProgress, None),
        (State::InProgress, None),
        (State::FailedTerminal, Some(Cause::Terminal)),
        (State::Received, Some(Cause::Operator)),
        (State::InProgress, None),
        (State::Completed, None),
    ];
    let lost = |t: &&Transition| t.cause == Some(Cause::LeaseEnded);
    assert_eq!(timeline.iter().filter(lost).count(), 1, "{found:?}");
    let rest = timeline
        .iter()
        .filter(|t| t.cause != Some(Cause::LeaseEnded));
    let rest: Vec<_> = rest.map(|t| (t.to, t.cause)).collect();
    assert_eq!(rest, expected);
}

/// What a gap and its release did to a message is in its history.
pub async fn parks_and_releases_are_in_the_history(s: Subject) {
    let on_terminal = semel_core::inbox::OnTerminal::Park;
    let s = s.ordered(semel_core::inbox::Order::Arrival { on_terminal });
    s.stored(vec![s.in_lane("lane", "a"), s.in_lane("lane", "b")])
        .await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
    s.operate(Action::Skip, &["a"]).await;
    s.process_all().await;
    let transitions = s.detail("b").await.expect("known").transitions;
    let found: Vec<_> = transitions.iter().map(|t| (t.to, t.cause)).collect();
    let expected = [
        (State::Parked, Some(Cause::BehindFailed)),
        (State::Received, Some(Cause::HeadDone)),
    ];
    assert_eq!(found, expected);
}

/// The happy path writes no history.
pub async fn a_message_that_just_completes_has_no_history(s: Subject) {
    s.processed(&["m"]).await;
    let detail = s.detail("m").await.expect("known");
    assert!(detail.attempts.is_empty() && detail.transitions.is_empty());
    let timeline = detail.timeline();
    let states: Vec<State> = timeline.iter().map(|t| t.to).collect();
    assert_eq!(states.len(), 3, "{states:?}");
    assert_eq!(detail.entry.error, None);
}

/// A message that fails for ever does not fill the disk: the newest attempts are kept.
pub async fn the_history_of_a_message_is_bounded(s: Subject) {
    s.received(&["m"]).await;
    for _ in 0..105 {
        let job = s.claim_one().await;
        s.finish(&job, retry_after(Duration::ZERO)).await;
    }
    let detail = s.detail("m").await.expect("known");
    assert_eq!(detail.attempts.len(), 100);
    assert!(detail.transitions.len() <= 100);
    assert_eq!(detail.attempts.last().map(|a| a.number), Some(105));
    assert_eq!(detail.entry.attempts, 105);
}

/// Nobody knows it, and nothing is made up.
pub async fn an_unknown_message_has_no_detail(s: Subject) {
    assert!(s.detail("nobody").await.is_none());
}

/// The view of processed messages has a plain name, and making it again changes nothing.
pub async fn processed_messages_can_be_exposed(s: Subject) {
    s.processed(&["m"]).await;
    let name = format!("processed_{}", s.consumer().name().replace('-', "_"));
    for _ in 0..2 {
        let exposed = s.inbox().expose_processed(name.clone()).await;
        exposed.expect("a plain name");
    }
    let long = "p".repeat(64);
    for bad in [
        "",
        "Processed",
        "1processed",
        "a b",
        "a;b",
        "semel_work",
        &long,
    ] {
        let refused = s.inbox().expose_processed(bad.to_owned()).await;
        refused.expect_err("not a plain name");
    }
}

/// A message is shown as it is at one moment: one that is completed has its outcome, also while it is being finished.
pub async fn a_message_is_shown_as_it_is_at_one_moment(s: Subject) {
    let ids: Vec<String> = (0..40).map(|n| format!("m-{n}")).collect();
    s.stored(ids.iter().map(|id| s.message(id)).collect()).await;
    let jobs = s.claim_as(s.ask(40)).await.jobs;
    let finishing = tokio::spawn({
        let s = s.clone();
        async move {
            for job in &jobs {
                s.complete(job).await;
            }
        }
    });
    for id in &ids {
        loop {
            let detail = s.detail(id).await.expect("a message");
            if detail.entry.state == State::Completed {
                assert!(detail.settled.is_some(), "{id} has no outcome");
                break;
            }
        }
    }
    finishing.await.expect("all are finished");
}

/// Those who wait for many messages ask once.
pub async fn states_of_many_are_told_in_one_call(s: Subject) {
    s.processed(&["done"]).await;
    s.received(&["waiting"]).await;
    let ids = ["waiting", "unknown", "done"].map(|id| s.identity(id));
    let states = s.inbox().states(ids.to_vec()).await.expect("an answer");
    assert_eq!(
        states,
        [Some(State::Received), None, Some(State::Completed)]
    );
}
