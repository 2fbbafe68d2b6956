//! The store in memory with one thing wrong.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::record::{Claim, EventKind, Fence, Lease, UnknownCause};
use semel_core::store::{
    Answer, Answers, AuditEntry, BATCH_MAX, Batch, ClaimAnswer, ClaimRequest, EVENTS_MAX, Layer,
    MarkAnswer, MarkRequest, Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest, Resolution,
    ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, StateFilter, Stats, StoreExt,
    Swept, Takeover, check_batch, each_fails,
};
use semel_core::{
    Body, Clock, Error, Event, Headers, Identity, Kind, ManualClock, MemoryStore, Record, Result,
    Retention, State, Store, Timestamp,
};

use crate::bugs::Bug;
use crate::opening::{claims, decide};

/// One handle on a store with a bug. Writers take turns, so that a test can hold them up.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) bug: Bug,
    pub(crate) memory: Arc<MemoryStore>,
    /// The machine's clock, which steps back when it is set back.
    wall_clock: Arc<ManualClock>,
    turns: Arc<tokio::sync::Mutex<()>>,
    hidden: HashMap<Identity, usize>,
    /// When records expire, for a sweep that is the only one to know.
    expiring: Mutex<Vec<(Claim, Timestamp)>>,
    pub(crate) barred: Mutex<HashSet<Identity>>,
    /// Histories as they were before contents were erased.
    unerased: Mutex<HashMap<Identity, Vec<Event>>>,
}

impl Wrong {
    pub(crate) fn new(
        bug: Bug,
        memory: Arc<MemoryStore>,
        wall_clock: Arc<ManualClock>,
        turns: Arc<tokio::sync::Mutex<()>>,
        hidden: HashMap<Identity, usize>,
    ) -> Self {
        Self {
            bug,
            memory,
            wall_clock,
            turns,
            hidden,
            expiring: Mutex::default(),
            barred: Mutex::default(),
            unerased: Mutex::default(),
        }
    }

    pub(crate) async fn current(&self, identity: &Identity) -> Option<Arc<Record>> {
        let found = self.memory.look_up_one(identity.clone()).await;
        found.expect("memory answers")
    }

    /// The claim with whatever fence is current if `forgets`: the check that the bug forgets.
    async fn unfenced(&self, claim: Claim, forgets: bool) -> Claim {
        if !forgets && self.bug != Bug::FencesReset {
            return claim;
        }
        let current = self.current(&claim.identity).await;
        let fence = current.map_or(claim.fence, |record| record.fence);
        Claim { fence, ..claim }
    }

    fn spelled(&self, identity: Identity) -> Identity {
        let (tenant, scope) = (identity.tenant().as_str(), identity.scope().to_string());
        let key = identity.key().as_str();
        let spelled = match self.bug {
            Bug::KeysTrimmed => Identity::parse(tenant, &scope, key.trim()),
            Bug::VersionsMixed => Identity::parse(tenant, &scope.replace("@2", "@1"), key),
            _ => return identity,
        };
        spelled.expect("still a valid identity")
    }

    /// Answers each item by itself, unless that is the bug.
    pub(crate) async fn each<'a, I, A, F>(
        &'a self,
        mut items: Batch<I>,
        verb: impl Fn(I) -> F,
    ) -> Batch<Result<A>>
    where
        F: Future<Output = Result<A>> + 'a,
    {
        if self.bug == Bug::BatchCut {
            items.truncate(BATCH_MAX);
        }
        let len = items.len();
        if let Err(error) = check_batch(len) {
            return each_fails(len, &error);
        }
        let mut answers = Batch::new();
        for item in items {
            answers.push(verb(item).await);
        }
        match self.bug {
            Bug::AnswersOutOfOrder => answers.reverse(),
            Bug::EmptyBatchAnswered if len == 0 => answers.push(Err(locked())),
            Bug::OneBadItemFailsAll => {
                if let Some(Err(error)) = answers.iter().find(|answer| answer.is_err()) {
                    return each_fails(len, error);
                }
            }
            _ => {}
        }
        answers
    }

    /// What a claim says for people, and what it is called.
    fn misunderstand(&self, request: &mut ClaimRequest, current: Option<&Record>) {
        match self.bug {
            Bug::AboutDropped => request.about = None,
            Bug::AboutOfTheFirstClaim if current.is_some() => {
                request.about = current.and_then(|record| record.about.clone());
            }
            Bug::NamesForgotten => request.nonce = None,
            Bug::NamesTakeOver if request.nonce.is_some() => request.takeover = Takeover::Allowed,
            _ => {}
        }
    }

    async fn claim_item(&self, mut request: ClaimRequest) -> Result<ClaimAnswer> {
        request.identity = self.spelled(request.identity);
        let identity = request.identity.clone();
        let current = self.current(&identity).await;
        self.misunderstand(&mut request, current.as_deref());
        if let Some(answer) = self.answered_without_asking(&identity, current.as_deref()) {
            return Ok(answer);
        }
        match (self.bug, &current) {
            (Bug::FingerprintIgnored, Some(record)) => request.fingerprint = record.fingerprint,
            (Bug::TakeoverOfWhatIsHeld, _) => request.takeover = Takeover::Allowed,
            _ => {}
        }
        let is_settled = current.is_some_and(|record| matches!(record.state, State::Settled(_)));
        let _turn = match (self.bug, is_settled) {
            (Bug::ReplaysTakeTheWritersLock, true) => {
                Some(self.turns.try_lock().map_err(|_| locked())?)
            }
            (_, true) => None,
            (_, false) => Some(self.turns.lock().await),
        };
        tokio::task::yield_now().await;
        let answer = self.memory.claim_one(request).await?;
        Ok(self.mistaken(&identity, answer))
    }

    fn answered_without_asking(
        &self,
        identity: &Identity,
        current: Option<&Record>,
    ) -> Option<ClaimAnswer> {
        let barred = || self.barred.lock().unwrap().contains(identity);
        if self.bug == Bug::BarsSeen && barred() {
            let (fence, lease_left) = (Fence::new(1), Duration::ZERO);
            return Some(ClaimAnswer::Running { fence, lease_left });
        }
        let (until, fence) = match current.map(|record| (&record.state, record.fence))? {
            (State::Running { lease_until }, fence) => (*lease_until, fence),
            (State::Unknown { since, .. }, fence) => (*since, fence),
            (State::Settled(_), _) => return None,
        };
        let now = self.wall_clock.now();
        let lease_left = until.since(now);
        (self.bug == Bug::WallClockFollowed && now < until)
            .then_some(ClaimAnswer::Running { fence, lease_left })
    }

    fn mistaken(&self, identity: &Identity, answer: ClaimAnswer) -> ClaimAnswer {
        match (self.bug, answer) {
            (Bug::EveryClaimGranted, ClaimAnswer::Running { fence, lease_left }) => {
                let identity = identity.clone();
                ClaimAnswer::Granted(Lease {
                    claim: Claim { identity, fence },
                    attempt: 1,
                    until: self.memory.now().after(lease_left),
                })
            }
            (Bug::AttemptsNotCounted, ClaimAnswer::Granted(lease)) => ClaimAnswer::Granted(Lease {
                attempt: 1,
                ..lease
            }),
            (Bug::FencesReset, ClaimAnswer::Granted(mut lease)) => {
                lease.claim.fence = Fence::new(1);
                ClaimAnswer::Granted(lease)
            }
            (_, answer) => answer,
        }
    }

    async fn settle_item(&self, mut item: SettleRequest) -> Result<SettleAnswer> {
        let _turn = self.turns.lock().await;
        tokio::task::yield_now().await;
        let forgets = self.bug == Bug::SettleWithoutFence;
        item.claim = self.unfenced(item.claim, forgets).await;
        let current = self.current(&item.claim.identity).await;
        let standing = current.as_ref().map(|record| (&record.state, record.fence));
        match (self.bug, standing) {
            (Bug::SettleAgainIsLate, Some((State::Settled(_), _))) => {
                return Ok(SettleAnswer::Late);
            }
            (Bug::LateOutcomeDropped, Some((State::Running { .. } | State::Settled(_), fence)))
                if fence == item.claim.fence => {}
            (Bug::LateOutcomeDropped, _) => return Ok(SettleAnswer::Late),
            _ => {}
        }
        let claimed_at = current.map_or(self.memory.now(), |record| record.claimed_at);
        let (claim, keep) = (item.claim.clone(), item.retention.keep());
        let answer = self.memory.settle_one(self.kept(item)).await?;
        if self.bug == Bug::RetentionFromTheClaim && self.memory.now().since(claimed_at) >= keep {
            decide(&self.memory, claim, Resolution::Erase).await;
        }
        Ok(match (self.bug, answer) {
            (Bug::LateReportedAsSettled, SettleAnswer::Late) => SettleAnswer::Settled,
            (Bug::NeverGrantedIsLate, SettleAnswer::NeverGranted) => SettleAnswer::Late,
            (_, answer) => answer,
        })
    }

    /// What of a settle reaches the record.
    fn kept(&self, mut item: SettleRequest) -> SettleRequest {
        let (outcome, keep) = (&mut item.outcome, item.retention.keep());
        let retention = |keep| Retention::delete_after(keep).expect("a valid retention");
        match (self.bug, &mut outcome.body) {
            (Bug::HeadersSorted, _) => {
                let fields = outcome.headers.iter();
                let mut fields: Vec<_> = fields.map(|(n, v)| (n.to_owned(), v.clone())).collect();
                fields.sort();
                outcome.headers = Headers::new(fields).expect("as few as before");
            }
            (Bug::OmittedBodyIsEmpty, body) if body.kept().is_none() => {
                *body = Body::Kept(Bytes::new());
            }
            (Bug::BodyCut, Body::Kept(bytes)) => bytes.truncate(65_536),
            (Bug::LargeBodyOmitted, _) => *outcome = outcome.clone().capped(BODY_BYTES_MAX),
            (Bug::ArchiveDropped, _) => item.retention = retention(keep),
            (Bug::ExpiredUntilSwept, _) => {
                let expires = (item.claim.clone(), self.memory.now().after(keep));
                self.expiring.lock().unwrap().push(expires);
                item.retention = retention(Duration::from_secs(3_600));
            }
            _ => {}
        }
        item
    }

    async fn renew_item(&self, mut item: RenewRequest) -> Result<RenewAnswer> {
        let forgets = self.bug == Bug::RenewWithoutFence;
        item.claim = self.unfenced(item.claim, forgets).await;
        let (term, claim) = (item.lease.get(), item.claim.clone());
        if self.bug == Bug::RenewIgnored {
            let current = self.current(&claim.identity).await;
            return Ok(match current.map(|record| record.state.clone()) {
                Some(State::Running { lease_until }) => RenewAnswer::Renewed(lease_until),
                _ => RenewAnswer::Lost,
            });
        }
        Ok(match (self.bug, self.memory.renew_one(item).await?) {
            (Bug::RenewalShortens, RenewAnswer::Renewed(_)) => {
                RenewAnswer::Renewed(self.memory.now().after(term))
            }
            (_, answer) => answer,
        })
    }

    async fn release_item(&self, item: Claim) -> Result<ReleaseAnswer> {
        let forgets = self.bug == Bug::ReleaseWithoutFence;
        let claim = self.unfenced(item, forgets).await;
        let is_absent = self.current(&claim.identity).await.is_none();
        match self.bug {
            Bug::ReleaseIgnored => Ok(ReleaseAnswer::Released),
            Bug::ReleaseAgainIsLost if is_absent => Ok(ReleaseAnswer::Lost),
            _ => self.memory.release_one(claim).await,
        }
    }

    async fn mark_item(&self, mut item: MarkRequest) -> Result<MarkAnswer> {
        item.claim = self.unfenced(item.claim, false).await;
        let current = self.current(&item.claim.identity).await;
        let is_unknown = current.is_some_and(|record| record.state.name() == "unknown");
        match self.bug {
            Bug::MarkIgnored => Ok(MarkAnswer::Marked),
            Bug::EvidenceDropped => {
                let evidence = None;
                self.memory.mark_one(MarkRequest { evidence, ..item }).await
            }
            Bug::MarkAgainIsLost if is_unknown => Ok(MarkAnswer::Lost),
            _ => self.memory.mark_one(item).await,
        }
    }

    async fn erase_contents(&self, mut item: ResolveRequest) -> Result<ResolveAnswer> {
        let identity = item.claim.identity.clone();
        let current = self.current(&identity).await;
        let len = current.as_ref().map(|record| match &record.state {
            State::Settled(settled) => settled.outcome.body.len(),
            State::Running { .. } | State::Unknown { .. } => 0,
        });
        match self.bug {
            Bug::ContentsKept => return Ok(ResolveAnswer::Resolved),
            Bug::LargeContentsKept if len > Some(100_000) => return Ok(ResolveAnswer::Resolved),
            Bug::ContentsLeftInArchive if len.is_none() => return Ok(ResolveAnswer::Resolved),
            Bug::ErasureForgetsTheRecord => item.resolution = Resolution::Erase,
            Bug::EraseContentsWithoutFence => item.claim = self.unfenced(item.claim, true).await,
            Bug::ContentsLeftInHistory => {
                let history = self.memory.history(identity.clone()).await?;
                self.unerased.lock().unwrap().insert(identity, history);
            }
            _ => {}
        }
        self.memory.resolve_one(item).await
    }

    async fn resolve_item(&self, mut item: ResolveRequest) -> Result<ResolveAnswer> {
        item.claim = self.unfenced(item.claim, false).await;
        if matches!(item.resolution, Resolution::EraseContents) {
            return self.erase_contents(item).await;
        }
        match self.bug {
            Bug::ResolveIgnored => Ok(ResolveAnswer::Resolved),
            Bug::CorrectionIgnored | Bug::EverythingCorrected
                if matches!(item.resolution, Resolution::Correct { .. }) =>
            {
                Ok(ResolveAnswer::Resolved)
            }
            Bug::RefusalReportedAsResolved => {
                self.memory.resolve_one(item).await?;
                Ok(ResolveAnswer::Resolved)
            }
            _ => self.memory.resolve_one(item).await,
        }
    }

    async fn look_up_item(&self, identity: Identity) -> Result<Option<Arc<Record>>> {
        let identity = self.spelled(identity);
        let Some(mut record) = self.memory.look_up_one(identity).await? else {
            return Ok(None);
        };
        let ended = UnknownCause::LeaseEnded;
        match (self.bug, record.state.clone()) {
            (Bug::RunningReportedAsAbsent, State::Running { .. }) => return Ok(None),
            (Bug::FailureReportedAsAbsent, state) if state.name() == "failed" => return Ok(None),
            (Bug::EndedLeaseReportedAsRunning, State::Unknown { since, cause, .. })
                if cause == ended =>
            {
                let lease_until = since;
                Arc::make_mut(&mut record).state = State::Running { lease_until };
            }
            (Bug::ErasureProlongsRetention, State::Settled(mut settled)) if settled.erased => {
                settled.expires_at = settled.expires_at.after(Duration::from_secs(1));
                Arc::make_mut(&mut record).state = State::Settled(settled);
            }
            _ => {}
        }
        Ok(Some(record))
    }

    async fn remembered(&self, identity: Identity) -> Result<Vec<Event>> {
        let hidden = self.hidden.get(&identity).copied();
        let unerased = self.unerased.lock().unwrap().get(&identity).cloned();
        let mut events = self.memory.history(identity).await?;
        for (event, before) in events.iter_mut().zip(unerased.into_iter().flatten()) {
            *event = before;
        }
        let is_late = |event: &Event| matches!(event.kind, EventKind::LateOutcome(_));
        match self.bug {
            Bug::HistoryReversed => events.reverse(),
            Bug::HistoryDoubled => events.extend(events.clone()),
            Bug::LateOutcomesPushedOut if events.len() > EVENTS_MAX => {
                events.retain(|event| !is_late(event));
            }
            Bug::HistoryTellsTheUsual => events.push(Event {
                at: self.memory.now(),
                fence: Fence::new(1),
                kind: EventKind::Released,
            }),
            _ => drop(events.drain(..hidden.unwrap_or(0))),
        }
        Ok(events)
    }

    async fn swept(&self, limit: usize) -> Result<Swept> {
        match self.bug {
            Bug::SweepIgnoresItsLimit => return self.memory.sweep(usize::MAX).await,
            Bug::SweepTakesSettled => {
                for claim in claims(&self.memory, Some(StateFilter::Succeeded)).await {
                    decide(&self.memory, claim, Resolution::Erase).await;
                }
            }
            Bug::SweepTakesRunning => {
                for claim in claims(&self.memory, Some(StateFilter::Running)).await {
                    self.memory.release_one(claim).await?;
                }
            }
            Bug::SweepTakesUnknown => {
                for claim in claims(&self.memory, Some(StateFilter::Unknown)).await {
                    decide(&self.memory, claim, Resolution::Release).await;
                }
            }
            Bug::ExpiredUntilSwept => {
                let (now, mut expired) = (self.memory.now(), Vec::new());
                self.expiring.lock().unwrap().retain(|(claim, at)| {
                    let is_due = *at <= now;
                    expired.extend(is_due.then(|| claim.clone()));
                    !is_due
                });
                for claim in expired {
                    decide(&self.memory, claim, Resolution::Erase).await;
                }
            }
            _ => {}
        }
        self.memory.sweep(limit).await
    }
}

fn locked() -> Error {
    Error::new(Kind::Locked, "a writer holds the lock")
}

impl Layer for Wrong {
    fn beneath(&self) -> &dyn Store {
        self.memory.as_ref()
    }

    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        Box::pin(self.each(items, move |item| self.claim_item(item)))
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        Box::pin(self.each(items, move |item| self.renew_item(item)))
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        Box::pin(self.each(items, move |item| self.settle_item(item)))
    }

    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer> {
        Box::pin(self.each(items, move |item| self.release_item(item)))
    }

    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer> {
        Box::pin(self.each(items, move |item| self.mark_item(item)))
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        Box::pin(self.each(items, move |item| self.resolve_item(item)))
    }

    fn look_up(&self, items: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        Box::pin(self.each(items, move |item| self.look_up_item(item)))
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        Box::pin(self.remembered(identity))
    }

    fn list(&self, mut query: Query) -> Answer<'_, Page> {
        if self.bug == Bug::StateFilterIgnored {
            query.state = None;
        }
        if self.bug == Bug::KeyFilterIgnored {
            query.key = None;
        }
        Box::pin(async move {
            let mut page = self.memory.list(query).await?;
            page.next.take_if(|_| self.bug == Bug::CursorEndsEarly);
            Ok(page)
        })
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        Box::pin(self.swept(limit))
    }

    fn stats(&self) -> Answer<'_, Stats> {
        match self.bug {
            Bug::CountsFrozen => Box::pin(std::future::ready(Ok(Stats::default()))),
            _ => self.memory.stats(),
        }
    }

    fn audit(&self, limit: usize) -> Answer<'_, Vec<AuditEntry>> {
        match self.bug {
            Bug::AuditDropped => Box::pin(std::future::ready(Ok(Vec::new()))),
            _ => self.memory.audit(limit),
        }
    }
}
