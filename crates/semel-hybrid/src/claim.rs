//! Claiming: the fast store grants, the durable one has the last word before anything runs.

use std::sync::Arc;

use semel_core::record::{Claim, EventKind, Lease, Record, UnknownCause};
use semel_core::store::{ClaimAnswer, ClaimRequest, MarkRequest, NoteRequest, Room, check_batch};
use semel_core::{Error, Fence, Kind, Result, Timestamp};

use crate::Hybrid;
use crate::copy::{Repair, claim_of, copy_of, drop_copy, end_unknown};

/// How often a claim is asked for again because a copy had to go first.
const ROUNDS_MAX: usize = 3;

impl Hybrid {
    pub(crate) async fn claim_all(&self, items: Vec<ClaimRequest>) -> Result<Vec<ClaimAnswer>> {
        check_batch(items.len())?;
        let mut answers = vec![None; items.len()];
        let claimed = self.claim_in_rounds(&items, &mut answers).await;
        let answered = claimed.and_then(|()| {
            let answers = answers.iter().cloned();
            let all: Option<Vec<ClaimAnswer>> = answers.collect();
            all.ok_or_else(stale)
        });
        if answered.is_err() {
            // Nothing runs under a claim that its caller is not told of.
            self.give_back(answers.iter().flatten()).await;
        }
        answered
    }

    async fn claim_in_rounds(
        &self,
        items: &[ClaimRequest],
        answers: &mut [Option<ClaimAnswer>],
    ) -> Result<()> {
        for _ in 0..ROUNDS_MAX {
            let open: Vec<usize> = (0..items.len()).filter(|i| answers[*i].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let asked: Vec<ClaimRequest> = open.iter().map(|i| items[*i].clone()).collect();
            for (i, answer) in open.into_iter().zip(self.claim_once(asked).await?) {
                answers[i] = answer;
            }
        }
        Ok(())
    }

    /// One round; `None` where a copy was in the way that is gone now.
    async fn claim_once(&self, items: Vec<ClaimRequest>) -> Result<Vec<Option<ClaimAnswer>>> {
        let fast = self.fast.claim(items.clone()).await?;
        let rooms = match self.rooms(&items, &fast).await {
            Ok(rooms) => rooms,
            Err(_) if fast.iter().all(|a| matches!(a, ClaimAnswer::Settled(_))) => {
                return Ok(fast.into_iter().map(Some).collect());
            }
            Err(error) => {
                self.give_back(&fast).await;
                return Err(error);
            }
        };
        if let Some(error) = forgotten(&fast, &rooms) {
            self.give_back(&fast).await;
            return Err(error);
        }
        let mut verdicts = Verdicts::default();
        let answers: Vec<_> = (items.iter().zip(fast).zip(rooms))
            .map(|((item, answer), room)| verdicts.decide(item, answer, room))
            .collect();
        self.repair(verdicts.repair).await;
        if !verdicts.notes.is_empty() {
            // The caller is refused either way; only the audit would miss it.
            let _ = self.durable.note(verdicts.notes).await;
        }
        Ok(answers)
    }

    /// What the durable store says about each item, asked after the fast store has answered: what it
    /// does not know by then can only be kept by those who hold a claim now.
    ///
    /// A takeover bars the owner that it takes over from; a first claim has nobody to bar.
    async fn rooms(&self, items: &[ClaimRequest], answers: &[ClaimAnswer]) -> Result<Vec<Room>> {
        let (mut bars, mut checks) = (Vec::new(), Vec::new());
        let is_takeover =
            |answer: &_| matches!(answer, ClaimAnswer::Granted(lease) if takes_over(lease));
        for (item, answer) in items.iter().zip(answers) {
            let claim = match answer {
                ClaimAnswer::Granted(lease) => lease.claim.clone(),
                // Nothing is to be kept: the question is only what is kept already.
                _ => Claim {
                    identity: item.identity.clone(),
                    fence: Fence::new(0),
                },
            };
            match is_takeover(answer) {
                true => bars.push(claim),
                false => checks.push(claim),
            }
        }
        let mut barred = match bars.is_empty() {
            true => Vec::new(),
            false => self.durable.bar(bars).await?,
        }
        .into_iter();
        let mut checked = match checks.is_empty() {
            true => Vec::new(),
            false => self.durable.check(checks).await?,
        }
        .into_iter();
        let rooms = answers.iter().map(|answer| match is_takeover(answer) {
            true => barred.next(),
            false => checked.next(),
        });
        let rooms: Option<Vec<Room>> = rooms.collect();
        rooms.ok_or_else(|| Error::new(Kind::Internal, "a store must give one answer per item"))
    }

    /// Gives granted claims back; if that fails too, their leases end and nobody has run.
    ///
    /// A claim that took over goes back to unknown: what it took over from may have happened.
    async fn give_back(&self, answers: impl IntoIterator<Item = &ClaimAnswer>) {
        let mut repair = Repair::default();
        for answer in answers {
            match answer {
                ClaimAnswer::Granted(lease) if takes_over(lease) => {
                    repair.marks.push(MarkRequest {
                        claim: lease.claim.clone(),
                        cause: UnknownCause::LeaseEnded,
                    });
                }
                ClaimAnswer::Granted(lease) => repair.releases.push(lease.claim.clone()),
                ClaimAnswer::Running { .. }
                | ClaimAnswer::Settled(_)
                | ClaimAnswer::Unknown { .. }
                | ClaimAnswer::Mismatch => {}
            }
        }
        self.repair(repair).await;
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
fn forgotten(answers: &[ClaimAnswer], rooms: &[Room]) -> Option<Error> {
    answers
        .iter()
        .zip(rooms)
        .find_map(|(answer, room)| match (answer, room) {
            (ClaimAnswer::Granted(lease), Room::Barred(known)) => {
                let granted = lease.claim.fence;
                let message = format!(
                    "the fast store granted fence {granted} of an operation for which the durable \
                 store knows {known}: it has lost records; nothing was run"
                );
                Some(Error::new(Kind::Unavailable, message))
            }
            _ => None,
        })
}

fn stale() -> Error {
    let message = "a copy in the fast store could not be removed; nothing was run";
    Error::new(Kind::Unavailable, message)
}
