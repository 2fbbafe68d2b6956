//! Claiming: the fast store grants, the durable one has the last word before anything runs.

use std::sync::Arc;

use semel_core::record::{Claim, EventKind, Lease, Record, UnknownCause};
use semel_core::store::{
    Batch, ClaimAnswer, ClaimRequest, MarkRequest, NoteRequest, Room, check_batch, each_fails,
    merge,
};
use semel_core::{Error, Fence, Kind, Result, Timestamp};

use crate::Hybrid;
use crate::copy::{Repair, claim_of, copy_of, drop_copy, end_unknown};

/// How often a claim is asked for again because a copy had to go first.
const ROUNDS_MAX: usize = 3;

impl Hybrid {
    pub(crate) async fn claim_all(&self, items: Batch<ClaimRequest>) -> Batch<Result<ClaimAnswer>> {
        if let Err(error) = check_batch(items.len()) {
            return each_fails(items.len(), &error);
        }
        let mut answers: Batch<Option<Result<ClaimAnswer>>> = items.iter().map(|_| None).collect();
        for _ in 0..ROUNDS_MAX {
            let open: Vec<usize> = (0..items.len()).filter(|i| answers[*i].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let asked: Batch<ClaimRequest> = open.iter().map(|i| items[*i].clone()).collect();
            for (i, answer) in open.into_iter().zip(self.claim_once(asked).await) {
                answers[i] = answer;
            }
        }
        let answered = answers.into_iter();
        answered
            .map(|answer| answer.unwrap_or_else(|| Err(stale())))
            .collect()
    }

    /// One round; `None` where a copy was in the way that is gone now.
    async fn claim_once(&self, items: Batch<ClaimRequest>) -> Vec<Option<Result<ClaimAnswer>>> {
        let fast = self.fast.claim(items.clone()).await;
        let rooms = self.rooms(&items, &fast).await;
        let mut verdicts = Verdicts::default();
        let answers: Vec<_> = (items.iter().zip(fast).zip(rooms))
            .map(|((item, answer), room)| verdicts.answer(item, answer, room))
            .collect();
        self.repair(verdicts.repair).await;
        if !verdicts.notes.is_empty() {
            // The caller is refused either way; only the audit would miss it.
            let _ = self.durable.note(verdicts.notes.into()).await;
        }
        answers
    }

    /// What the durable store says about each item, asked after the fast store has answered: what it
    /// does not know by then can only be kept by those who hold a claim now.
    ///
    /// A takeover bars the owner that it takes over from; a first claim has nobody to bar. Nothing is asked about
    /// an item of which the fast store could say nothing.
    async fn rooms(
        &self,
        items: &[ClaimRequest],
        answers: &[Result<ClaimAnswer>],
    ) -> Batch<Result<Room>> {
        let (mut bars, mut checks) = (Batch::new(), Batch::new());
        for (item, answer) in items.iter().zip(answers) {
            match answer {
                Ok(ClaimAnswer::Granted(lease)) if takes_over(lease) => {
                    bars.push(lease.claim.clone());
                }
                Ok(ClaimAnswer::Granted(lease)) => checks.push(lease.claim.clone()),
                // Nothing is to be kept: the question is only what is kept already.
                Ok(_) | Err(_) => checks.push(Claim {
                    identity: item.identity.clone(),
                    fence: Fence::new(0),
                }),
            }
        }
        let mut barred = match bars.is_empty() {
            true => Batch::new(),
            false => self.durable.bar(bars).await,
        }
        .into_iter();
        let checked = match checks.is_empty() {
            true => Batch::new(),
            false => self.durable.check(checks).await,
        };
        let of_takeovers = answers.iter().map(|answer| match answer {
            Ok(ClaimAnswer::Granted(lease)) if takes_over(lease) => barred.next(),
            _ => None,
        });
        merge(of_takeovers.collect(), checked)
    }
}

const fn takes_over(lease: &Lease) -> bool {
    lease.attempt > 1
}

/// The two stores' answers, brought together.
#[derive(Default)]
struct Verdicts {
    repair: Repair,
    notes: Vec<NoteRequest>,
}

impl Verdicts {
    /// What the caller is told; `None` if it has to be asked again.
    fn answer(
        &mut self,
        item: &ClaimRequest,
        fast: Result<ClaimAnswer>,
        room: Result<Room>,
    ) -> Option<Result<ClaimAnswer>> {
        let (answer, room) = match (fast, room) {
            (Ok(answer), Ok(room)) => (answer, room),
            (Err(error), _) => return Some(Err(error)),
            // A copy answers while the durable store is away.
            (Ok(ClaimAnswer::Settled(copy)), Err(_)) => {
                return Some(Ok(ClaimAnswer::Settled(copy)));
            }
            (Ok(answer), Err(error)) => {
                self.give_back(&answer);
                return Some(Err(error));
            }
        };
        if let Some(error) = forgotten(&answer, &room) {
            self.give_back(&answer);
            return Some(Err(error));
        }
        self.decide(item, answer, room).map(Ok)
    }

    /// Gives a granted claim back, because its caller is not told of it; if that fails too, its lease ends and
    /// nothing has run.
    ///
    /// A claim that took over goes back to unknown: what it took over from may have happened.
    fn give_back(&mut self, answer: &ClaimAnswer) {
        match answer {
            ClaimAnswer::Granted(lease) if takes_over(lease) => {
                self.repair.marks.push(MarkRequest {
                    claim: lease.claim.clone(),
                    cause: UnknownCause::LeaseEnded,
                    evidence: None,
                });
            }
            ClaimAnswer::Granted(lease) => self.repair.releases.push(lease.claim.clone()),
            ClaimAnswer::Running { .. }
            | ClaimAnswer::Settled(_)
            | ClaimAnswer::Unknown { .. }
            | ClaimAnswer::Mismatch => {}
        }
    }

    /// What two answers say together; `None` if it has to be asked again.
    fn decide(
        &mut self,
        item: &ClaimRequest,
        answer: ClaimAnswer,
        room: Room,
    ) -> Option<ClaimAnswer> {
        match (answer, room) {
            // The fingerprint comes before the state, on every path.
            (answer, Room::Settled(record)) if record.fingerprint != item.fingerprint => {
                Some(self.mismatch(item, answer, &record))
            }
            (answer, Room::Settled(record)) => {
                self.agree(item, answer, &record);
                Some(ClaimAnswer::Settled(record))
            }
            // The durable record has gone before its copy.
            (ClaimAnswer::Settled(copy), Room::Open | Room::Barred(_)) => {
                self.repair.decisions.push(drop_copy(claim_of(&copy)));
                None
            }
            (answer, Room::Open | Room::Barred(_)) => Some(answer),
        }
    }

    fn mismatch(
        &mut self,
        item: &ClaimRequest,
        answer: ClaimAnswer,
        record: &Record,
    ) -> ClaimAnswer {
        match answer {
            ClaimAnswer::Granted(lease) => self.repair.releases.push(lease.claim),
            // The fast store has written it down already.
            ClaimAnswer::Mismatch => return ClaimAnswer::Mismatch,
            ClaimAnswer::Running { .. } | ClaimAnswer::Settled(_) | ClaimAnswer::Unknown { .. } => {
            }
        }
        self.notes.push(NoteRequest {
            claim: claim_of(record),
            kind: EventKind::Mismatch(item.fingerprint),
        });
        ClaimAnswer::Mismatch
    }

    /// Makes the fast store agree that the operation is settled.
    fn agree(&mut self, item: &ClaimRequest, answer: ClaimAnswer, record: &Arc<Record>) {
        let claim = |fence| Claim {
            identity: item.identity.clone(),
            fence,
        };
        match answer {
            ClaimAnswer::Granted(lease) => {
                let now = granted_at(&lease, item);
                let copy = copy_of(lease.claim, record, Some(now));
                self.repair.copies.push(copy);
            }
            // Its owner kept the outcome and died, or is about to say so itself.
            ClaimAnswer::Running { fence, .. } if fence == record.fence => {
                let copy = copy_of(claim(fence), record, None);
                self.repair.copies.push(copy);
            }
            ClaimAnswer::Unknown { fence, .. } => {
                let end = end_unknown(claim(fence), record, true);
                self.repair.decisions.push(end);
            }
            // Another caller is being told the same at this moment, or knows it already.
            ClaimAnswer::Running { .. } | ClaimAnswer::Settled(_) | ClaimAnswer::Mismatch => {}
        }
    }
}

/// When the fast store granted a lease, by its clock.
fn granted_at(lease: &Lease, item: &ClaimRequest) -> Timestamp {
    let term_ms = i64::try_from(item.lease.get().as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(lease.until.as_millis().saturating_sub(term_ms))
}

/// The durable store knows a higher fence than one that was just granted: the fast store has lost
/// records, and an outcome under this fence could not be kept.
fn forgotten(answer: &ClaimAnswer, room: &Room) -> Option<Error> {
    let (ClaimAnswer::Granted(lease), Room::Barred(known)) = (answer, room) else {
        return None;
    };
    let granted = lease.claim.fence;
    let message = format!(
        "the fast store granted fence {granted} of an operation for which the durable \
         store knows {known}: it has lost records; nothing was run"
    );
    Some(Error::new(Kind::Unavailable, message))
}

fn stale() -> Error {
    let message = "a copy in the fast store could not be removed; nothing was run";
    Error::new(Kind::Unavailable, message)
}
