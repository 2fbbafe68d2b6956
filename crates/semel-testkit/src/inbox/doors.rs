//! One record space: what another door settles while a message waits does not run.

use semel_core::inbox::{Action, Cause, OnTerminal, Order, State};

use super::receiving::settle_elsewhere;
use super::subject::Subject;
use super::values::{id, parked, terminal};

/// Before a message runs, its record is looked at.
pub async fn a_message_that_another_door_settled_does_not_run(s: Subject) {
    s.received(&["m", "n"]).await;
    settle_elsewhere(&s, "m", s.message("m").fingerprint()).await;
    let claimed = s.claim_as(s.ask(10)).await;
    let ids: Vec<String> = claimed.jobs.iter().map(id).collect();
    assert_eq!(ids, ["n"]);
    assert_eq!(claimed.settled, [s.identity("m")]);
    let skipped = (State::SkippedDuplicate, Some(Cause::SettledElsewhere));
    assert_eq!(s.state("m").await, skipped);
    assert_eq!(s.outcome("m").await, "settled elsewhere");
    s.nothing_is_due().await;
}

/// Its lane goes on without it.
pub async fn a_lane_goes_on_past_what_another_door_settled(s: Subject) {
    let on_terminal = OnTerminal::Park;
    let s = s.ordered(Order::Arrival { on_terminal });
    s.stored(["a", "b"].map(|id| s.in_lane("lane", id)).to_vec())
        .await;
    settle_elsewhere(&s, "a", s.in_lane("lane", "a").fingerprint()).await;
    let first = s.process().await;
    s.is("a", State::SkippedDuplicate).await;
    let rest = s.process_all().await;
    assert_eq!([first, rest].concat(), ["b"]);
}

/// A person's word is not stronger than the record: running it again would be the duplicate.
pub async fn a_retry_of_what_another_door_settled_is_refused(s: Subject) {
    for (id, disposition, action) in [
        ("failed", terminal(), Action::Retry { new_key: false }),
        ("parked", parked(), Action::Retry { new_key: false }),
        ("unparked", parked(), Action::Unpark),
    ] {
        s.received(&[id]).await;
        let job = s.claim_one().await;
        s.finish(&job, disposition).await;
        settle_elsewhere(&s, id, s.message(id).fingerprint()).await;
        let report = s.operate(action, &[id]).await;
        let counts = (report.changed, report.skipped, report.settled);
        assert_eq!(counts, (0, 1, 1), "{id}");
        s.nothing_is_due().await;
    }
}
