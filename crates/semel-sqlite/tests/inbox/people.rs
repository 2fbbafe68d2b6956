//! What people see: details, histories, views, and lists at size.

use semel_core::inbox::{Action, Cause, Query, State, Transition};
use semel_core::store::{ClaimRequest, SettleRequest, StoreExt, Takeover};
use semel_core::{Fingerprint, Inbox, Kind, LeaseTerm, Outcome, Retention};

use crate::fixture::{Fixture, LEASE, completed, identity, message, retry, terminal};

#[tokio::test]
async fn a_timeline_tells_the_whole_story_in_order() {
    let fixture = Fixture::new();
    let second = std::time::Duration::from_secs(1);
    fixture.receive(vec![message("m")]).await;
    fixture.clock.advance(second);
    fixture.claim_one().await;
    fixture.clock.advance(LEASE * 2);
    let job = fixture.claim_one().await;
    fixture.clock.advance(second);
    fixture.finish(&job, retry()).await;
    let job = fixture.claim_one().await;
    fixture.clock.advance(second);
    fixture.finish(&job, terminal()).await;
    fixture.clock.advance(second);
    fixture
        .operate(Action::Retry { new_key: false }, &["m"])
        .await;
    let job = fixture.claim_one().await;
    fixture.clock.advance(second);
    fixture.finish(&job, completed()).await;
    let detail = fixture.detail("m").await.unwrap();
    assert_eq!((detail.entry.attempts, detail.entry.generation), (1, 1));
    let told: Vec<(State, Option<Cause>)> = detail
        .timeline()
        .iter()
        .map(|t: &Transition| (t.to, t.cause))
        .collect();
    let running = (State::InProgress, None);
    let expected = [
        (State::Received, None),
        running,
        (State::FailedRetryable, Some(Cause::LeaseEnded)),
        running,
        (State::FailedRetryable, Some(Cause::Retryable)),
        running,
        (State::FailedTerminal, Some(Cause::Terminal)),
        (State::Received, Some(Cause::Operator)),
        running,
        (State::Completed, None),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn what_another_door_settled_is_known_by_its_record() {
    let fixture = Fixture::new();
    let request = ClaimRequest {
        identity: identity("m"),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    };
    let answer = fixture.store.claim_one(request).await.unwrap();
    let semel_core::store::ClaimAnswer::Granted(lease) = answer else {
        panic!("expected a grant, found {answer:?}");
    };
    assert!(fixture.detail("m").await.is_none());
    let settle = SettleRequest {
        claim: lease.claim,
        outcome: Outcome::succeeded("elsewhere"),
        took: std::time::Duration::ZERO,
        retention: Retention::default(),
    };
    fixture.store.settle_one(settle).await.unwrap();
    let detail = fixture.detail("m").await.unwrap();
    assert_eq!(detail.entry.state, State::Completed);
    assert_eq!((detail.message, detail.entry.payload_bytes), (None, None));
    let report = fixture
        .operate(Action::Replay { rebuild: false }, &["m"])
        .await;
    assert_eq!((report.matched, report.changed, report.gone), (1, 0, 1));
}

#[tokio::test]
async fn processed_messages_are_seen_through_a_view_of_the_users_name() {
    let fixture = Fixture::new();
    fixture.receive(vec![message("m"), message("n")]).await;
    let jobs = fixture.claim().await;
    fixture.finish(&jobs[0], completed()).await;
    for _ in 0..2 {
        let made = fixture
            .store
            .expose_processed("processed_message".to_owned());
        made.await.unwrap();
    }
    let sql = "SELECT consumer_name, message_id, processed_at FROM processed_message";
    let connection = fixture.connection();
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    let rows: Vec<(String, String, String)> = rows.unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].0.as_str(), rows[0].1.as_str()), ("mailer@1", "m"));
    assert!(rows[0].2.starts_with("2096-10-02T07:06:40"), "{rows:?}");
}

#[tokio::test]
async fn a_view_takes_nobodys_name() {
    let fixture = Fixture::new();
    let connection = fixture.connection();
    let sql = "CREATE TABLE mine (x); CREATE VIEW theirs AS SELECT 1";
    connection.execute_batch(sql).unwrap();
    for name in ["mine", "theirs"] {
        let error = fixture.store.expose_processed(name.to_owned()).await;
        assert_eq!(error.unwrap_err().kind(), Kind::Invalid, "{name}");
    }
    let long = "x".repeat(64);
    for name in [
        "", "1a", "Mine", "a b", "a\"b", "semel_x", "sqlite_x", "é", &long,
    ] {
        let error = fixture.store.expose_processed(name.to_owned()).await;
        assert_eq!(error.unwrap_err().kind(), Kind::Invalid, "{name:?}");
    }
    fixture
        .store
        .expose_processed("order".to_owned())
        .await
        .unwrap();
}

#[tokio::test]
async fn people_with_sqlites_own_tool_see_the_inbox() {
    let fixture = Fixture::new();
    fixture
        .receive(vec![message("done"), message("failed")])
        .await;
    let jobs = fixture.claim().await;
    fixture.finish(&jobs[0], completed()).await;
    fixture.finish(&jobs[1], terminal()).await;
    let sql = "SELECT message_id || ' ' || state || ' ' || coalesce(error, '') \
               FROM semel_inbox WHERE consumer = 'mailer@1' ORDER BY message_id";
    let connection = fixture.connection();
    let mut statement = connection.prepare(sql).unwrap();
    let lines = statement.query_map([], |row| row.get(0)).unwrap();
    let lines: Vec<String> = lines.map(Result::unwrap).collect();
    let expected = [
        "done COMPLETED ",
        "failed FAILED_TERMINAL the account is closed",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn pages_follow_each_other_through_every_filter() {
    let fixture = Fixture::new();
    let ids: Vec<String> = (0..25).map(|n| format!("m-{n:02}")).collect();
    fixture
        .receive(ids.iter().map(|id| message(id)).collect())
        .await;
    let jobs = fixture.claim().await;
    for (n, job) in jobs.iter().enumerate() {
        let disposition = if n % 2 == 0 { completed() } else { terminal() };
        fixture.finish(job, disposition).await;
    }
    for (states, expected) in [
        (vec![], 25),
        (vec![State::Completed], 13),
        (vec![State::FailedTerminal], 12),
        (vec![State::Completed, State::FailedTerminal], 25),
        (vec![State::Received], 0),
    ] {
        let mut query = Query {
            states,
            consumer: Some(fixture.plan.consumer.clone()),
            limit: 4,
            ..Query::default()
        };
        let mut numbers = Vec::new();
        loop {
            let page = fixture.store.list_messages(query.clone()).await.unwrap();
            numbers.extend(page.entries.iter().map(|entry| entry.number));
            query.before = page.next;
            if page.next.is_none() {
                break;
            }
        }
        assert_eq!(numbers.len(), expected, "{query:?}");
        assert!(numbers.is_sorted_by(|a, b| a > b), "{numbers:?}");
    }
}
