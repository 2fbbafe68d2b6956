//! Erasures where PostgreSQL makes a difference: several rows of one id, and replays of other connections.

use std::sync::Arc;

use semel_core::inbox::{Action, Operation, Plan, Report, Selection, State, Step};
use semel_core::store::Actor;
use semel_core::{Inbox, Key};
use semel_postgres::PostgresStore;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::support::Schema;
use crate::support::verbs::until;
use crate::verbs::{claimed, complete, ids, message_to, plan, received};

/// What a trigger waits for until the test goes on.
const HELD: i64 = 4_711;
const REPLAY: Action = Action::Replay { rebuild: false };

fn operation(plan: &Plan, action: Action, ids: &[String]) -> Operation {
    Operation {
        plan: plan.clone(),
        select: Selection {
            ids: ids.iter().map(|id| Key::new(id).unwrap()).collect(),
            ..Selection::default()
        },
        action,
        by: Actor::new("a test").unwrap(),
        reason: None,
        verb: "inbox test",
        dry_run: false,
        edit: None,
    }
}

async fn processed(store: &PostgresStore, ids: &[String]) {
    received(store, &plan(), ids).await;
    let jobs = claimed(store, &plan(), ids.len()).await;
    complete(store, &plan(), &jobs).await;
}

async fn payloads(client: &Client, schema: &Schema) -> Vec<String> {
    let sql = format!(
        "SELECT convert_from(payload, 'UTF8') FROM {}.semel_messages ORDER BY number",
        schema.name
    );
    let rows = client.query(&sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// A tenant's contents go with all rows of an id, and what the newest of them has left is its own as long as it runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_message_of_an_id_that_was_received_again_is_erased() {
    let schema = Schema::new();
    let (store, client) = (schema.open().await, schema.client().await);
    processed(&store, &ids(1)).await;
    let end = format!("UPDATE {}.semel_records SET expires_ms = 1", schema.name);
    client.batch_execute(&end).await.unwrap();
    received(&store, &plan(), &ids(1)).await;
    let jobs = claimed(&store, &plan(), 1).await;
    let step = Step::new("charge", "charged").unwrap();
    store
        .remember_step(jobs[0].claim.clone(), step)
        .await
        .unwrap();
    let all = operation(&plan(), Action::EraseContents, &[]);
    let report = store.operate(all).await.unwrap();
    assert_eq!((report.matched, report.changed), (1, 1), "{report:?}");
    assert_eq!(payloads(&client, &schema).await, ["", "payload of m-0"]);
    let detail = store.message(jobs[0].claim.identity.clone()).await.unwrap();
    let detail = detail.unwrap();
    assert_eq!(detail.message, Some(message_to(&plan(), "m-0")));
    assert_eq!((detail.steps.len(), detail.transitions.len()), (1, 0));
    complete(&store, &plan(), &jobs).await;
    let named = operation(&plan(), Action::EraseContents, &ids(1));
    assert_eq!(store.operate(named).await.unwrap().changed, 1);
    assert_eq!(payloads(&client, &schema).await, ["", ""]);
}

/// Erasing an id by its name takes all its rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_messages_of_an_id_are_erased_by_its_name() {
    let schema = Schema::new();
    let (store, client) = (schema.open().await, schema.client().await);
    for _ in 0..2 {
        processed(&store, &ids(1)).await;
        let end = format!("UPDATE {}.semel_records SET expires_ms = 1", schema.name);
        client.batch_execute(&end).await.unwrap();
    }
    let named = operation(&plan(), Action::EraseContents, &ids(1));
    assert_eq!(store.operate(named).await.unwrap().changed, 2);
    assert_eq!(payloads(&client, &schema).await, ["", ""]);
}

/// Two operations on one completed message, of two connections: the first is held up in its transaction until the other one waits or is done.
struct Race {
    schema: Schema,
    store: Arc<PostgresStore>,
    holder: Client,
}

impl Race {
    /// A message is completed, and `event` of `table` waits.
    async fn new(event: &str, table: &str) -> Self {
        let schema = Schema::new();
        let store = Arc::new(schema.open().await);
        processed(&store, &ids(1)).await;
        let holder = schema.client().await;
        let trigger = format!(
            "CREATE FUNCTION {s}.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM pg_advisory_xact_lock(hashtext('{s}'), {HELD}); RETURN NEW; END $$; \
             CREATE TRIGGER hold BEFORE {event} ON {s}.{table} FOR EACH ROW EXECUTE FUNCTION {s}.hold(); \
             SELECT pg_advisory_lock(hashtext('{s}'), {HELD})",
            s = schema.name
        );
        holder.batch_execute(&trigger).await.unwrap();
        Self {
            schema,
            store,
            holder,
        }
    }

    /// Begins an operation; it is over, or waits for `waiting` others at the server with those that wait already.
    async fn begin(&self, action: Action, waiting: i64) -> JoinHandle<Report> {
        let (store, operation) = (self.store.clone(), operation(&plan(), action, &ids(1)));
        let task = tokio::spawn(async move { store.operate(operation).await.unwrap() });
        let client = self.schema.client().await;
        let sql = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{}.semel%'",
            self.schema.name
        );
        until("the operation waits or is over", async || {
            let count: i64 = client.query_one(&sql, &[]).await.unwrap().get(0);
            count == waiting || task.is_finished()
        })
        .await;
        task
    }

    /// Lets the first go on.
    async fn let_go(&self) {
        let sql = format!(
            "SELECT pg_advisory_unlock(hashtext('{}'), {HELD})",
            self.schema.name
        );
        self.holder.batch_execute(&sql).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_meets_an_erasure_runs_nothing() {
    let race = Race::new("UPDATE", "semel_messages").await;
    let erasure = race.begin(Action::EraseContents, 1).await;
    let replay = race.begin(REPLAY, 2).await;
    race.let_go().await;
    assert_eq!(erasure.await.unwrap().changed, 1);
    let replayed = replay.await.unwrap();
    assert_eq!((replayed.changed, replayed.gone), (0, 1), "{replayed:?}");
    assert!(claimed(&race.store, &plan(), 1).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_that_meets_a_replay_leaves_what_is_about_to_run() {
    let race = Race::new("INSERT", "semel_work").await;
    let replay = race.begin(REPLAY, 1).await;
    let erasure = race.begin(Action::EraseContents, 2).await;
    race.let_go().await;
    assert_eq!(replay.await.unwrap().changed, 1);
    let erased = erasure.await.unwrap();
    assert_eq!((erased.changed, erased.skipped), (0, 1), "{erased:?}");
    let jobs = claimed(&race.store, &plan(), 1).await;
    assert_eq!(*jobs[0].message, message_to(&plan(), "m-0"));
}

/// Whatever made it due, a message without its contents is passed over and holds up no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_holds_nothing_any_more_is_never_handed_out() {
    let schema = Schema::new();
    let (store, client) = (schema.open().await, schema.client().await);
    processed(&store, &ids(1)).await;
    let replay = operation(&plan(), REPLAY, &ids(1));
    assert_eq!(store.operate(replay).await.unwrap().changed, 1);
    let erase = format!(
        "UPDATE {}.semel_messages SET payload = '', erased_ms = 1",
        schema.name
    );
    client.batch_execute(&erase).await.unwrap();
    received(&store, &plan(), &["new".to_owned()]).await;
    let jobs = claimed(&store, &plan(), 1).await;
    let found: Vec<String> = jobs.iter().map(crate::verbs::id).collect();
    assert_eq!(found, ["new"]);
    let identity = message_to(&plan(), "m-0").identity().clone();
    let states = store.states(vec![identity]).await.unwrap();
    assert_eq!(states, [Some(State::SkippedDuplicate)]);
}
