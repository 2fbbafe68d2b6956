//! Messages that are stored with the effect that wants them.

use std::sync::Arc;

use semel_core::inbox::work::INTENTS_MAX;
use semel_core::inbox::{Action, Disposition, Finished, Intent, Message, OnTerminal, Order, State};

use super::subject::Subject;
use super::values::{AWHILE, finish_of, id, only, terminal};

/// An intent to `target`.
fn intent(target: &Subject, id: &str) -> Intent {
    intent_of(target, target.message(id))
}

fn intent_of(target: &Subject, message: Message) -> Intent {
    Intent {
        plan: Arc::new(target.plan().clone()),
        message,
    }
}

/// What is to be sent is there as soon as the effect is.
pub async fn intents_are_received_with_the_finish(s: Subject) {
    let target = s.beside("-target", 1);
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    target.nothing_is_due().await;
    let intents = vec![intent(&target, "mail"), intent(&target, "invoice")];
    let mut wake_up = s.inbox().wake_up(target.consumer());
    assert_eq!(s.complete_with(&job, intents).await, Finished::Done);
    super::claiming::woken(&mut wake_up).await;
    let jobs = target.claim().await;
    assert_eq!(jobs.iter().map(id).collect::<Vec<_>>(), ["mail", "invoice"]);
    assert_eq!(*jobs[0].message, target.message("mail"));
    target.complete(&jobs[0]).await;
    assert_eq!(target.outcome("mail").await, "done mail");
}

/// An attempt that came too late has no intents either: its successor's count.
pub async fn a_finish_that_is_late_leaves_no_intents(s: Subject) {
    let target = s.beside("-target", 1);
    s.received(&["m"]).await;
    let old = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    let new = s.claim_one().await;
    let lost = s.complete_with(&old, vec![intent(&target, "old")]).await;
    assert_eq!(lost, Finished::Lost);
    assert!(target.detail("old").await.is_none());
    s.complete_with(&new, vec![intent(&target, "new")]).await;
    assert_eq!(target.claim_ids().await, ["new"]);
}

/// The id decides: what was sent, or is to be, is not sent twice.
pub async fn an_intent_that_exists_is_not_doubled(s: Subject) {
    let target = s.beside("-target", 1);
    target.processed(&["sent"]).await;
    target.received(&["waiting"]).await;
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    let ids = ["sent", "waiting", "new", "new"];
    let intents = ids.map(|id| intent(&target, id)).to_vec();
    assert_eq!(s.complete_with(&job, intents).await, Finished::Done);
    assert_eq!(target.process_all().await, ["waiting", "new"]);
    assert_eq!(target.outcome("sent").await, "done sent");
}

/// Intents of several messages of one batch, to several consumers, some of them late.
pub async fn intents_go_with_their_own_item_of_a_batch(s: Subject) {
    let (mail, pay) = (s.beside("-mail", 1), s.beside("-pay", 1));
    s.received(&["lost"]).await;
    let lost = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    s.claim_one().await;
    s.received(&["a", "b", "c"]).await;
    let jobs = s.claim().await;
    let disposition = |intents| Disposition::Completed {
        outcome: semel_core::Outcome::succeeded("done"),
        intents,
    };
    let items = vec![
        finish_of(
            &jobs[0],
            disposition(vec![intent(&mail, "a"), intent(&pay, "a")]),
        ),
        finish_of(&lost, disposition(vec![intent(&mail, "lost")])),
        finish_of(&jobs[1], terminal()),
        finish_of(&jobs[2], disposition(vec![intent(&mail, "c")])),
    ];
    let (done, late) = (Finished::Done, Finished::Lost);
    assert_eq!(s.finish_all(items).await, [done, late, done, done]);
    assert_eq!(mail.claim_ids().await, ["a", "c"]);
    assert_eq!(pay.claim_ids().await, ["a"]);
}

/// An intent is a message like any other: in a lane it takes its place.
pub async fn intents_take_their_place_in_the_lanes_of_their_target(s: Subject) {
    let on_terminal = OnTerminal::Park;
    let target = s.beside("-target", 1);
    let target = target.ordered(Order::Arrival { on_terminal });
    target.stored(vec![target.in_lane("lane", "first")]).await;
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    let message = target.in_lane("lane", "second");
    s.complete_with(&job, vec![intent_of(&target, message)])
        .await;
    let head = target.claim_one().await;
    assert_eq!(id(&head), "first");
    target.complete(&head).await;
    assert_eq!(target.process_all().await, ["second"]);
}

/// A duplicate of a message that is done wants nothing sent.
pub async fn a_duplicate_makes_no_second_intent(s: Subject) {
    let target = s.beside("-target", 1);
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    s.complete_with(&job, vec![intent(&target, "mail")]).await;
    s.receive(vec![s.message("m"), s.message("m")]).await;
    s.nothing_is_due().await;
    assert_eq!(target.process_all().await, ["mail"]);
    s.receive_one(s.message("m")).await;
    s.nothing_is_due().await;
    assert_eq!(target.ids().await, ["mail"]);
}

/// What becomes of the message later takes no intent back.
pub async fn a_replay_of_the_message_leaves_its_intents_alone(s: Subject) {
    let target = s.beside("-target", 1);
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    s.complete_with(&job, vec![intent(&target, "mail")]).await;
    s.operate(Action::Replay { rebuild: false }, &["m"]).await;
    let again = s.claim_one().await;
    s.finish(&again, terminal()).await;
    assert_eq!(target.process_all().await, ["mail"]);
}

/// Too many are refused whole: nothing is finished and nothing is sent.
pub async fn intents_have_a_limit(s: Subject) {
    let target = s.beside("-target", 1);
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    let intents = (0..=INTENTS_MAX).map(|n| intent(&target, &format!("i-{n}")));
    let disposition = Disposition::Completed {
        outcome: semel_core::Outcome::succeeded("done"),
        intents: intents.collect(),
    };
    let items = vec![finish_of(&job, disposition)];
    let refused = s.inbox().finish(s.plan().clone(), items).await;
    refused.expect_err("one intent too many");
    s.is("m", State::InProgress).await;
    assert!(target.detail("i-0").await.is_none());
}
