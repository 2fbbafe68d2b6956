//! What operators make of messages that failed: beside what arrived, and never compared with.

use bytes::Bytes;
use semel_core::Headers;
use semel_core::inbox::edit::EDITS_MAX;
use semel_core::inbox::{Action, Cause, Edit, Job, Operation, Receipt, Report, Selection, State};

use super::receiving::rich;
use super::seen::{by_ids, duplicate, stored};
use super::subject::Subject;
use super::values::{LONG, parked, retry_after, terminal};

const EDIT: Action = Action::Edit { new_key: false };

/// An edit of the message with this id to this payload.
fn edit_of(s: &Subject, id: &str, payload: &str) -> Operation {
    let fields = vec![("Content-Type".to_owned(), Bytes::from("application/json"))];
    let headers = Headers::new(fields).expect("one header");
    let tenant = Some(s.identity(id).tenant().to_string());
    let edit = Edit::new(payload.to_owned(), headers).expect("a small payload");
    Operation {
        edit: Some(edit),
        ..s.operation(
            EDIT,
            Selection {
                tenant,
                ..by_ids(&[id])
            },
        )
    }
}

async fn edit(s: &Subject, id: &str, payload: &str) -> Report {
    s.operate_as(edit_of(s, id, payload)).await
}

fn contents(job: &Job) -> (&str, u32) {
    let payload = std::str::from_utf8(job.message.payload()).expect("text");
    (payload, job.message.edited())
}

/// Receives a message and lets it fail for good.
async fn failed(s: &Subject, id: &str) {
    s.stored(vec![rich(s, id)]).await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
}

/// It runs again with the new contents, everything else as it arrived, and the original is still there.
pub async fn an_edited_message_runs_with_its_new_contents_beside_the_original(s: Subject) {
    failed(&s, "m").await;
    assert_eq!(edit(&s, "m", "mended").await.changed, 1);
    s.is("m", State::Received).await;
    let job = s.claim_one().await;
    assert_eq!(contents(&job), ("mended", 1));
    assert_eq!((job.attempt, job.generation, job.key_generation), (1, 1, 0));
    let arrived = rich(&s, "m");
    assert_eq!(job.message.headers().len(), 1);
    assert_eq!(job.message.fingerprint(), arrived.fingerprint());
    assert_eq!(job.message.identity(), arrived.identity());
    assert_eq!(
        (
            job.message.lane(),
            job.message.sequence(),
            job.message.kind()
        ),
        (arrived.lane(), arrived.sequence(), arrived.kind())
    );
    let detail = s.detail("m").await.expect("known");
    assert_eq!(detail.message, Some(arrived));
    let [edited] = detail.edits.as_slice() else {
        panic!("expected one edit, found {:?}", detail.edits)
    };
    assert_eq!((edited.version, edited.by.as_str()), (1, "the suite"));
    assert_eq!(edited.reason.as_deref(), Some("INC-7"));
    assert_eq!(edited.edit.payload(), "mended");
    assert_eq!(s.audit().await[0].action, "edit");
}

/// What the producer sends again is the original, whatever was made of it.
pub async fn a_redelivery_of_what_was_edited_is_a_duplicate_and_no_conflict(s: Subject) {
    failed(&s, "m").await;
    edit(&s, "m", "mended").await;
    assert_eq!(
        s.receive_one(rich(&s, "m")).await,
        duplicate(State::Received)
    );
    let job = s.claim_one().await;
    s.complete(&job).await;
    assert_eq!(
        s.receive_one(rich(&s, "m")).await,
        duplicate(State::Completed)
    );
    // What was made of it never arrived.
    let mended = s.message_of("m", "mended");
    assert_eq!(s.receive_one(mended).await, Receipt::Conflict);
    let record = s.record("m").await.expect("a record");
    assert_eq!(record.fingerprint, rich(&s, "m").fingerprint());
}

/// The newest edit is what runs: on every retry, after an unpark, on replays.
pub async fn the_newest_edit_runs_also_on_retries_and_replays(s: Subject) {
    failed(&s, "m").await;
    edit(&s, "m", "first").await;
    let job = s.claim_one().await;
    s.finish(&job, parked()).await;
    edit(&s, "m", "second").await;
    let job = s.claim_one().await;
    assert_eq!((contents(&job), job.generation), (("second", 2), 2));
    s.finish(&job, parked()).await;
    for action in [Action::Unpark, Action::Retry { new_key: false }] {
        assert_eq!(s.operate(action, &["m"]).await.changed, 1);
        let job = s.claim_one().await;
        assert_eq!(contents(&job), ("second", 2), "{action:?}");
        s.finish(&job, parked()).await;
    }
    s.operate(Action::Unpark, &["m"]).await;
    let job = s.claim_one().await;
    s.complete(&job).await;
    for rebuild in [false, true] {
        let replay = Action::Replay { rebuild };
        assert_eq!(s.operate(replay, &["m"]).await.changed, 1);
        let job = s.claim_one().await;
        assert_eq!((contents(&job), job.replay), (("second", 2), true));
        s.complete(&job).await;
    }
}

/// Broken JSON is mended and runs, and so does a payload whose id was taken.
pub async fn what_could_not_be_read_or_is_a_conflict_can_be_mended(s: Subject) {
    let broken = s.message_of("broken", "{").as_unreadable("no id at $.id");
    assert_eq!(s.receive_one(broken).await, stored(State::Parked));
    assert_eq!(edit(&s, "broken", "{}").await.changed, 1);
    let job = s.claim_one().await;
    assert_eq!(contents(&job), ("{}", 1));
    s.complete(&job).await;
    s.processed(&["m"]).await;
    let other = s.message_of("m", "another payload");
    assert_eq!(s.receive_one(other.clone()).await, Receipt::Conflict);
    let beside = other.clone().as_conflict().identity().key().to_string();
    s.is_parked(&beside, Cause::Conflict).await;
    let report = edit(&s, &beside, "mended").await;
    assert_eq!((report.changed, report.conflicts), (1, 1));
    let job = s.claim_one().await;
    assert_eq!(contents(&job), ("mended", 1));
    s.complete(&job).await;
    assert_eq!(s.receive_one(other).await, Receipt::Conflict);
    s.nothing_is_due().await;
}

/// What still runs by itself, is done, or waits for others is not edited.
pub async fn only_what_failed_or_is_parked_is_edited(s: Subject) {
    s.received(&["running"]).await;
    s.claim_one().await;
    s.processed(&["done"]).await;
    s.received(&["received"]).await;
    for id in ["running", "done", "received"] {
        let report = edit(&s, id, "mended").await;
        assert_eq!((report.changed, report.skipped), (0, 1), "{id}");
        assert_eq!(s.detail(id).await.expect("known").edits, [], "{id}");
    }
    s.process_all().await;
    s.received(&["later"]).await;
    let job = s.claim_one().await;
    s.finish(&job, retry_after(LONG)).await;
    assert_eq!(edit(&s, "later", "mended").await.changed, 1);
    assert_eq!(contents(&s.claim_one().await), ("mended", 1));
}

/// A dry run keeps nothing.
pub async fn a_dry_run_of_an_edit_keeps_nothing(s: Subject) {
    failed(&s, "m").await;
    let dry = Operation {
        dry_run: true,
        ..edit_of(&s, "m", "mended")
    };
    assert_eq!(s.operate_as(dry).await.changed, 1);
    s.is("m", State::FailedTerminal).await;
    assert_eq!(s.detail("m").await.expect("known").edits, []);
}

/// However many edits are made, what is kept is bounded; versions go on counting.
pub async fn only_the_newest_edits_are_kept(s: Subject) {
    failed(&s, "m").await;
    let many = u32::try_from(EDITS_MAX).expect("a small number") + 2;
    for n in 1..=many {
        edit(&s, "m", &format!("edit {n}")).await;
        let job = s.claim_one().await;
        assert_eq!(contents(&job), (format!("edit {n}").as_str(), n));
        s.finish(&job, terminal()).await;
    }
    let kept = s.detail("m").await.expect("known").edits;
    let versions: Vec<u32> = kept.iter().map(|edited| edited.version).collect();
    assert_eq!(versions, (3..=many).collect::<Vec<_>>());
}

/// An edit is of one message, and brings contents; other acts bring none.
pub async fn an_edit_is_of_one_message_of_one_tenant(s: Subject) {
    failed(&s, "m").await;
    let whole = edit_of(&s, "m", "mended");
    let mut without_contents = whole.clone();
    without_contents.edit = None;
    let mut without_tenant = whole.clone();
    without_tenant.select.tenant = None;
    let mut of_two = whole.clone();
    of_two.select.ids = by_ids(&["m", "n"]).ids;
    let mut retry = whole;
    retry.action = Action::Retry { new_key: false };
    for refused in [without_contents, without_tenant, of_two, retry] {
        let answer = s.inbox().operate(refused).await;
        assert!(answer.is_err(), "{answer:?}");
    }
    s.is("m", State::FailedTerminal).await;
}

/// The same id of another tenant is another message.
pub async fn an_edit_changes_no_message_of_another_tenant(s: Subject) {
    let other = s.clone().of_tenant("globex");
    for s in [&s, &other] {
        s.received(&["m"]).await;
        let job = s.claim_one().await;
        s.finish(&job, terminal()).await;
    }
    assert_eq!(edit(&other, "m", "mended").await.changed, 1);
    s.is("m", State::FailedTerminal).await;
    assert_eq!(contents(&s.claim_one().await), ("mended", 1));
    s.operate(Action::Retry { new_key: false }, &["m"]).await;
    assert_eq!(contents(&s.claim_one().await), ("payload of m", 0));
}
