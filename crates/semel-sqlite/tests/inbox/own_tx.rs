//! The end of a message, its effect and its intents in a transaction of the user's own.

use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use semel_core::inbox::{
    Arrivals, Disposition, Finish, Finished, Intent, Job, Message, Plan, Progress, Receipt, State,
};
use semel_core::{Identity, Inbox, Kind, Outcome, Store, StoreExt};
use semel_sqlite::inbox::{finish_in, receive_in};

use crate::fixture::{Fixture, LEASE, completed, finish_of, identity, message};

const TARGET: &str = "intent:mail@1";

fn with_account(fixture: &Fixture) -> Connection {
    let connection = fixture.connection();
    let sql = "CREATE TABLE account (balance INTEGER NOT NULL); INSERT INTO account VALUES (0)";
    connection.execute_batch(sql).unwrap();
    connection
}

fn begin(connection: &mut Connection) -> Transaction<'_> {
    let immediate = TransactionBehavior::Immediate;
    connection.transaction_with_behavior(immediate).unwrap()
}

fn balance(connection: &Connection) -> i64 {
    let sql = "SELECT balance FROM account";
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Completed, with a mail to be sent because of it.
fn with_mail(job: &Job) -> Finish {
    let id = format!("{}/mail", job.claim.identity.key());
    let identity = Identity::parse("public", TARGET, &id).unwrap();
    let intent = Intent {
        plan: Arc::new(Plan::new(TARGET.parse().unwrap())),
        message: Message::new(identity, "to be sent").unwrap(),
    };
    let disposition = Disposition::Completed {
        outcome: Outcome::succeeded("done"),
        intents: vec![intent],
    };
    finish_of(job, disposition)
}

fn deposit(tx: &Transaction<'_>, fixture: &Fixture, finish: &Finish) -> Finished {
    let sql = "UPDATE account SET balance = balance + 100";
    tx.execute(sql, []).unwrap();
    finish_in(tx, &fixture.plan, finish).unwrap()
}

#[tokio::test]
async fn marker_effect_and_intents_commit_together() {
    let fixture = Fixture::new();
    let mut connection = with_account(&fixture);
    fixture.receive(vec![message("m")]).await;
    let job = fixture.claim_one().await;
    let tx = begin(&mut connection);
    assert_eq!(deposit(&tx, &fixture, &with_mail(&job)), Finished::Done);
    tx.commit().unwrap();
    assert_eq!(balance(&connection), 100);
    assert_eq!(fixture.state("m").await, State::Completed);
    let mail = Identity::parse("public", TARGET, "m/mail").unwrap();
    let mail = fixture.store.message(mail).await.unwrap().unwrap();
    assert_eq!(mail.entry.state, State::Received);
    let again = fixture.receive(vec![message("m")]).await;
    let state = State::Completed;
    assert_eq!(again[0].brief(), Receipt::duplicate(state));
}

#[tokio::test]
async fn marker_effect_and_intents_roll_back_together() {
    let fixture = Fixture::new();
    let mut connection = with_account(&fixture);
    fixture.receive(vec![message("m")]).await;
    let job = fixture.claim_one().await;
    let tx = begin(&mut connection);
    assert_eq!(deposit(&tx, &fixture, &with_mail(&job)), Finished::Done);
    tx.rollback().unwrap();
    assert_eq!(balance(&connection), 0);
    assert_eq!(fixture.state("m").await, State::InProgress);
    assert!(
        fixture
            .store
            .look_up_one(identity("m"))
            .await
            .unwrap()
            .is_none()
    );
    let mail = Identity::parse("public", TARGET, "m/mail").unwrap();
    assert!(fixture.store.message(mail).await.unwrap().is_none());
    // The claim is still good.
    assert_eq!(fixture.finish(&job, completed()).await, Finished::Done);
}

#[tokio::test]
async fn an_owner_that_was_replaced_learns_of_it_before_its_effect_commits() {
    let fixture = Fixture::new();
    let mut connection = with_account(&fixture);
    fixture.receive(vec![message("m")]).await;
    let old = fixture.claim_one().await;
    fixture.clock.advance(LEASE * 2);
    let new = fixture.claim_one().await;
    let tx = begin(&mut connection);
    assert_eq!(deposit(&tx, &fixture, &with_mail(&old)), Finished::Lost);
    tx.rollback().unwrap();
    let tx = begin(&mut connection);
    assert_eq!(deposit(&tx, &fixture, &with_mail(&new)), Finished::Done);
    tx.commit().unwrap();
    assert_eq!(balance(&connection), 100);
}

#[tokio::test]
async fn messages_are_received_with_the_rest_of_a_transaction() {
    let fixture = Fixture::new();
    let mut connection = with_account(&fixture);
    let progress = |epoch| Progress {
        source: "file".to_owned(),
        partition: String::new(),
        position: "line 1".to_owned(),
        epoch,
    };
    let take = || async {
        let taken = fixture
            .store
            .take_positions("file".to_owned(), vec![String::new()]);
        taken.await.unwrap().remove(0)
    };
    let (older, newer) = (take().await, take().await);
    let mut arrivals = Arrivals {
        plan: fixture.plan.clone(),
        messages: vec![message("m")],
        positions: vec![progress(older.epoch)],
    };
    let tx = begin(&mut connection);
    let error = receive_in(&tx, &arrivals).unwrap_err();
    assert_eq!(error.kind(), Kind::Fenced);
    // The rest of the transaction may still commit.
    tx.commit().unwrap();
    assert!(fixture.detail("m").await.is_none());
    arrivals.positions = vec![progress(newer.epoch)];
    let tx = begin(&mut connection);
    receive_in(&tx, &arrivals).unwrap();
    tx.rollback().unwrap();
    assert!(fixture.detail("m").await.is_none());
    let mut wake_up = fixture.store.wake_up(&fixture.plan.consumer);
    let tx = begin(&mut connection);
    receive_in(&tx, &arrivals).unwrap();
    tx.commit().unwrap();
    fixture.store.wake(&fixture.plan.consumer);
    wake_up.woken().await;
    assert_eq!(fixture.process_all().await, ["m"]);
    assert_eq!(take().await.position.as_deref(), Some("line 1"));
}

#[tokio::test]
async fn what_breaks_the_rules_leaves_the_transaction_as_it_was() {
    let fixture = Fixture::new();
    let mut connection = with_account(&fixture);
    let tx = begin(&mut connection);
    let sql = "UPDATE account SET balance = 1";
    tx.execute(sql, []).unwrap();
    let mut arrivals = Arrivals {
        plan: Plan::new("other@1".parse().unwrap()),
        messages: vec![message("m")],
        positions: Vec::new(),
    };
    let error = receive_in(&tx, &arrivals).unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    arrivals.messages.clear();
    arrivals.positions = vec![Progress {
        source: "file".to_owned(),
        partition: String::new(),
        position: "x".repeat(10_000),
        epoch: 1,
    }];
    let error = receive_in(&tx, &arrivals).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit);
    tx.commit().unwrap();
    assert_eq!(balance(&connection), 1);
    fixture.store.stats().await.unwrap();
}
