//! The same id with another payload: never dropped, never run by itself.

use semel_core::inbox::{Action, Cause, Message, Receipt, State};

use super::seen::duplicate;
use super::subject::Subject;
use super::values::only;

fn other(s: &Subject) -> Message {
    s.message_of("m", "another payload")
}

fn conflict_id(s: &Subject) -> String {
    other(s).as_conflict().identity().key().to_string()
}

/// The second payload is kept for a person to look at, and the first one goes on.
pub async fn the_same_id_with_another_payload_is_parked_beside_the_first(s: Subject) {
    s.received(&["m"]).await;
    assert_eq!(s.receive_one(other(&s)).await, Receipt::Conflict);
    let id = conflict_id(&s);
    s.is_parked(&id, Cause::Conflict).await;
    let detail = s.detail(&id).await.expect("known");
    let kept = detail.message.expect("kept");
    assert_eq!(kept, other(&s).as_conflict());
    assert_eq!(s.process_all().await, ["m"]);
}

/// A conflict that keeps coming does not fill the table.
pub async fn a_conflict_that_keeps_coming_is_stored_once(s: Subject) {
    s.received(&["m"]).await;
    for _ in 0..3 {
        assert_eq!(s.receive_one(other(&s)).await, Receipt::Conflict);
    }
    assert_eq!(s.ids().await, ["m".to_owned(), conflict_id(&s)]);
    assert_eq!(s.counts().await.parked, 1);
}

/// That the first one is done does not make another payload a duplicate of it.
pub async fn another_payload_is_a_conflict_also_when_the_first_is_done(s: Subject) {
    s.processed(&["m"]).await;
    assert_eq!(s.receive_one(other(&s)).await, Receipt::Conflict);
    s.is_parked(&conflict_id(&s), Cause::Conflict).await;
    let again = s.receive_one(s.message("m")).await;
    assert_eq!(again, duplicate(State::Completed));
}

/// A batch behaves as its messages would one after another.
pub async fn two_payloads_with_one_id_in_one_batch_are_a_conflict(s: Subject) {
    let batch = vec![s.message("m"), other(&s), s.message("m"), other(&s)];
    let receipts = s.receive(batch).await;
    assert_eq!(receipts[1], Receipt::Conflict);
    assert_eq!(receipts[2], duplicate(State::Received));
    assert_eq!(receipts[3], Receipt::Conflict);
    assert_eq!(s.process_all().await, ["m"]);
    assert_eq!(s.ids().await, ["m".to_owned(), conflict_id(&s)]);
}

/// What is compared is the fingerprint that was chosen, not the bytes.
pub async fn another_form_of_the_same_content_is_a_duplicate(s: Subject) {
    s.received(&["m"]).await;
    let print = s.message("m").fingerprint();
    let again = s.receive_one(other(&s).with_fingerprint(print)).await;
    assert_eq!(again, duplicate(State::Received));
}

/// A person may decide to run it: under its own id, so that the first one's record stays.
pub async fn a_conflict_runs_under_its_own_id_if_a_person_says_so(s: Subject) {
    s.processed(&["m"]).await;
    s.receive_one(other(&s)).await;
    let id = conflict_id(&s);
    let report = s.operate(Action::Retry { new_key: false }, &[&id]).await;
    assert_eq!((report.changed, report.conflicts), (1, 1), "{report:?}");
    let job = only(s.claim().await);
    assert_eq!(*job.message.payload(), "another payload");
    s.complete(&job).await;
    assert_eq!(s.outcome("m").await, "done m");
    assert_eq!(s.receive_one(other(&s)).await, Receipt::Conflict);
    s.nothing_is_due().await;
}
