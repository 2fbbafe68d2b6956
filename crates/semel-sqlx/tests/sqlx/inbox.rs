//! Messages that end, and that are sent, in a transaction of sqlx.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{
    Arrivals, ClaimBatch, Disposition, Finish, Finished, Intent, Job, Message, Plan, Receipt,
    State, UnknownPolicy, WorkerName,
};
use semel_core::{Identity, Inbox, LeaseTerm, Outcome, StoreExt};

use crate::support::{Account, run};

fn plan(consumer: &str) -> Plan {
    Plan::new(consumer.parse().expect("a valid name"))
}

fn message(plan: &Plan, id: &str) -> Message {
    let identity = Identity::parse("public", &plan.consumer.to_string(), id);
    Message::new(identity.expect("valid parts"), "payload").expect("a small payload")
}

fn arrivals(plan: &Plan, id: &str) -> Arrivals {
    Arrivals {
        plan: plan.clone(),
        messages: vec![message(plan, id)],
        positions: Vec::new(),
    }
}

async fn claimed(account: &Account, plan: &Plan) -> Vec<Job> {
    let ask = ClaimBatch {
        plan: plan.clone(),
        worker: WorkerName::new("a test").expect("a short name"),
        max: 10,
        bytes_max: usize::MAX,
        lease: LeaseTerm::default(),
        on_unknown: UnknownPolicy::Rerun,
    };
    let claimed = account.store.claim_batch(ask).await;
    claimed.expect("the store answers").jobs
}

#[tokio::test(flavor = "multi_thread")]
async fn marker_effect_and_intents_commit_or_roll_back_together() {
    let account = Account::new().await;
    let (deposits, mails) = (plan("deposits@1"), plan("intent:mail@1"));
    account
        .store
        .receive(arrivals(&deposits, "m"))
        .await
        .unwrap();
    let job = claimed(&account, &deposits).await.remove(0);
    let intent = Intent {
        plan: Arc::new(mails.clone()),
        message: message(&mails, "mail-for-m"),
    };
    let end = Finish {
        claim: job.claim.clone(),
        took: Duration::ZERO,
        disposition: Disposition::Completed {
            outcome: Outcome::succeeded("deposited"),
            intents: vec![intent],
        },
    };
    for commits in [false, true] {
        let mut tx = account.pool.begin().await.unwrap();
        run(&account.deposit, &mut tx).await.unwrap();
        let ends = [end.clone()];
        let finished = account.tables.finish(&mut tx, &deposits, &ends).await;
        assert_eq!(finished.unwrap(), [Finished::Done]);
        match commits {
            true => tx.commit().await.unwrap(),
            false => tx.rollback().await.unwrap(),
        }
        assert_eq!(account.cents().await, if commits { 100 } else { 0 });
        let record = account.store.look_up_one(job.claim.identity.clone()).await;
        assert_eq!(record.unwrap().is_some(), commits);
        let sent = claimed(&account, &mails).await;
        assert_eq!(sent.len(), usize::from(commits));
    }
    // The commit's answer may be lost: sent again, it is done, and its effect is not made again.
    let mut tx = account.pool.begin().await.unwrap();
    let again = account.tables.finish(&mut tx, &deposits, &[end]).await;
    assert_eq!(again.unwrap(), [Finished::Done]);
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_received_in_a_transaction_is_there_when_it_commits() {
    let account = Account::new().await;
    let deposits = plan("deposits@1");
    let state = State::Received;
    for receipt in [Receipt::Stored { state }, Receipt::duplicate(state)] {
        let mut tx = account.pool.begin().await.unwrap();
        let receipts = account
            .tables
            .receive(&mut tx, &arrivals(&deposits, "m"))
            .await;
        assert_eq!(receipts.unwrap()[0].brief(), receipt);
        tx.commit().await.unwrap();
    }
    assert_eq!(claimed(&account, &deposits).await.len(), 1);
}
