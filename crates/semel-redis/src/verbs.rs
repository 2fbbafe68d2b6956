//! The protocol's verbs, many items at a time.

use futures_util::future::join_all;
use semel_core::protocol::{self, Standing, Step};
use semel_core::record::{Claim, Lease};
use semel_core::store::batcher::Item;
use semel_core::store::{
    Batch, ClaimAnswer, MarkAnswer, MarkRequest, ReleaseAnswer, RenewAnswer, Resolution,
    ResolveAnswer, ResolveRequest, SettleAnswer, Takeover, check_batch, each_fails, merge,
};
use semel_core::{Error, Fence, Identity, Kind, Result, Timestamp};
use tokio::time::Instant;

use crate::engine::{Asked, Engine, TO_BE_DRAWN, too_late};
use crate::error::{refused, timed_out};
use crate::items::{ClaimItem, RenewItem, SettleItem};
use crate::keys::Of;
use crate::load::{Loaded, Wanted};
use crate::records;
use crate::reply::{Reply, unexpected};
use crate::script::{Again, CLAIM, Call, RENEW, Replicas, SETTLE};

impl Engine {
    /// Claims of different identities.
    pub(crate) async fn claim(&self, items: Batch<ClaimItem>) -> Batch<Result<ClaimAnswer>> {
        let replies = self
            .round_trip(&items, |item| item.deadline, |group| self.claim_call(group))
            .await;
        let each = items.iter().zip(replies);
        let answers =
            each.map(|(item, reply)| async move { self.claim_answer(item, reply?).await });
        join_all(answers).await.into()
    }

    fn claim_call(&self, group: &[ClaimItem]) -> Call {
        let of = self.shared_keys(group, [Of::Meta, Of::Running, Of::All]);
        let mut call = Call::new(&CLAIM)
            .replicas(Replicas::Must)
            .keys(of)
            .arg(if self.link.waits() { "1" } else { "" })
            .number(self.keys.unit_us());
        for item in group {
            let identity = &item.request.identity;
            call = call
                .keys([self.keys.record(identity)])
                .number(ms(item.request.lease.get()))
                .number(self.deadline_ms(item.deadline))
                .arg(item.nonce.to_hex())
                .arg(records::rest_of_claim(&item.request));
        }
        call
    }

    /// The keys that all items of a group share.
    fn shared_keys<I: Item, const N: usize>(&self, group: &[I], of: [Of; N]) -> Vec<String> {
        let bucket = group.first().map(|item| self.keys.bucket(item.identity()));
        let key = |what| bucket.map(|bucket| self.keys.of(bucket, what));
        of.into_iter().filter_map(key).collect()
    }

    async fn claim_answer(&self, item: &ClaimItem, mut reply: Reply) -> Result<ClaimAnswer> {
        let identity = &item.request.identity;
        match reply.word.as_str() {
            "granted" => Ok(ClaimAnswer::Granted(Lease {
                claim: Claim {
                    identity: identity.clone(),
                    fence: self.keys.bucket(identity).fence(reply.number()?),
                },
                until: Timestamp::from_millis(reply.number()?),
                attempt: reply.number()?,
            })),
            "found" => {
                let loaded = self.found(reply, identity)?;
                let asked = Asked {
                    nonce: item.nonce,
                    deadline: item.deadline,
                    again: Again::UnlessReadOnly,
                    outcome: Wanted::Replayed(item.request.fingerprint),
                    is_archived: false,
                };
                let verb = |loaded: &Loaded| claim_step(loaded, item);
                let (answer, fence) = self.decide(identity, Some(loaded), asked, verb).await?;
                Ok(with_fence(answer, fence))
            }
            "too late" => Err(too_late()),
            "refused" => Err(self.refusal(reply).await),
            _ => Err(unexpected()),
        }
    }

    /// Why a server that can be read took no write.
    async fn refusal(&self, mut reply: Reply) -> Error {
        let said = match reply.bytes() {
            Ok(said) => said.unwrap_or_default(),
            Err(error) => return error,
        };
        let error = refused(&String::from_utf8_lossy(&said));
        if error.kind() == Kind::ReadOnly {
            self.link.look_elsewhere().await;
        }
        error
    }

    /// Settles of different identities.
    pub(crate) async fn settle(&self, items: Batch<SettleItem>) -> Batch<Result<SettleAnswer>> {
        let replies = self
            .round_trip(&items, |item| item.1, |group| self.settle_call(group))
            .await;
        let each = items.iter().zip(replies);
        let answers = each.map(|(SettleItem(request, deadline), reply)| async move {
            let reply = reply?;
            match reply.word.as_str() {
                "settled" => Ok(SettleAnswer::Settled),
                _ => {
                    let identity = &request.claim.identity;
                    let verb = |loaded: &Loaded| {
                        let highest = self.keys.highest(identity, loaded.now);
                        protocol::settle(loaded.record(), request, highest, loaded.now)
                    };
                    let mut asked = Asked::until(*deadline);
                    asked.outcome = Wanted::Compared(request.claim.fence);
                    self.otherwise(&request.claim.identity, reply, asked, verb)
                        .await
                }
            }
        });
        join_all(answers).await.into()
    }

    fn settle_call(&self, group: &[SettleItem]) -> Call {
        let of = self.shared_keys(group, [Of::Running, Of::Expiring]);
        let mut call = Call::new(&SETTLE).replicas(Replicas::Waited).keys(of);
        for SettleItem(request, _) in group {
            let identity = &request.claim.identity;
            let archive = request.retention.archive();
            call = call
                .keys([self.keys.record(identity)])
                .arg(records::fence_text(
                    request.claim.fence,
                    self.keys.bucket(identity),
                ))
                .number(ms(request.retention.keep()))
                .number(records::flags(&request.outcome, archive))
                .arg(records::outcome_head(&request.outcome, request.took))
                .arg(records::body_bytes(&request.outcome));
        }
        call
    }

    /// Renewals of different identities.
    pub(crate) async fn renew(&self, items: Batch<RenewItem>) -> Batch<Result<RenewAnswer>> {
        let replies = self
            .round_trip(&items, |item| item.1, |group| self.renew_call(group))
            .await;
        let each = items.iter().zip(replies);
        let answers = each.map(|(RenewItem(request, deadline), reply)| async move {
            let mut reply = reply?;
            match reply.word.as_str() {
                "renewed" => Ok(RenewAnswer::Renewed(Timestamp::from_millis(
                    reply.number()?,
                ))),
                _ => {
                    let verb = |loaded: &Loaded| {
                        protocol::renew(
                            loaded.record(),
                            request.claim.fence,
                            request.lease,
                            loaded.now,
                        )
                    };
                    let asked = Asked::until(*deadline);
                    self.otherwise(&request.claim.identity, reply, asked, verb)
                        .await
                }
            }
        });
        join_all(answers).await.into()
    }

    fn renew_call(&self, group: &[RenewItem]) -> Call {
        let mut call = Call::new(&RENEW).keys(self.shared_keys(group, [Of::Running]));
        for RenewItem(request, _) in group {
            let identity = &request.claim.identity;
            call = call
                .keys([self.keys.record(identity)])
                .arg(records::fence_text(
                    request.claim.fence,
                    self.keys.bucket(identity),
                ))
                .number(ms(request.lease.get()));
        }
        call
    }

    /// Decides what a script left to the protocol.
    async fn otherwise<A>(
        &self,
        identity: &Identity,
        reply: Reply,
        asked: Asked,
        verb: impl Fn(&Loaded) -> Step<A>,
    ) -> Result<A> {
        if reply.word != "found" {
            return Err(unexpected());
        }
        let loaded = self.found(reply, identity)?;
        let (answer, _) = self.decide(identity, Some(loaded), asked, verb).await?;
        Ok(answer)
    }

    /// One round trip for all items whose callers still wait; one reply per item.
    async fn round_trip<I: Item>(
        &self,
        items: &[I],
        deadline: impl Fn(&I) -> Instant,
        call: impl Fn(&[I]) -> Call,
    ) -> Vec<Result<Reply>> {
        let begun = Instant::now();
        let latest = items.iter().map(&deadline).max().unwrap_or(begun);
        if latest <= begun {
            // They waited for their turn until their time was over: nothing was sent.
            return items
                .iter()
                .map(|_| Err(timed_out("waiting for a turn", None)))
                .collect();
        }
        let groups = self.groups(items, I::identity);
        let calls = groups.iter().map(|group| call(group)).collect();
        let answers = self.link.call_all(calls, latest).await;
        let mut replies = Vec::with_capacity(items.len());
        for (group, answered) in groups.into_iter().zip(answers) {
            match self.replies(answered, group.len()) {
                Ok(of_group) => replies.extend(of_group.into_iter().map(Ok)),
                Err(error) => replies.extend(group.iter().map(|_| Err(error.duplicate()))),
            }
        }
        if let Some(watch) = &self.watch {
            watch.committed(items.len(), begun.elapsed());
        }
        replies
    }

    /// A verb without a script of its own: load, decide, change. Items of one identity go one after another.
    async fn verb<I, A>(
        &self,
        items: Batch<I>,
        identity: impl Fn(&I) -> &Identity,
        wanted: impl Fn(&I) -> Wanted,
        verb: impl Fn(&I, &Loaded) -> Step<A>,
    ) -> Batch<Result<A>> {
        if let Err(error) = check_batch(items.len()) {
            return each_fails(items.len(), &error);
        }
        let deadline = self.link.deadline();
        let mut answers: Batch<Option<Result<A>>> = items.iter().map(|_| None).collect();
        for round in rounds(&items, &identity) {
            let identities: Vec<Identity> =
                round.iter().map(|i| identity(&items[*i]).clone()).collect();
            let loaded = self.load(&identities, deadline).await;
            let (items, identity, wanted, verb) = (&items, &identity, &wanted, &verb);
            let each = round.into_iter().zip(loaded).map(|(i, loaded)| async move {
                let item = &items[i];
                let mut asked = Asked::until(deadline);
                asked.outcome = wanted(item);
                let decided = match loaded {
                    Ok(loaded) => {
                        self.decide(identity(item), Some(loaded), asked, |l| verb(item, l))
                            .await
                    }
                    Err(error) => Err(error),
                };
                (i, decided.map(|(answer, _)| answer))
            });
            for (i, answer) in join_all(each).await {
                answers[i] = Some(answer);
            }
        }
        merge(answers, [])
    }

    pub(crate) async fn release(&self, items: Batch<Claim>) -> Batch<Result<ReleaseAnswer>> {
        let verb = |claim: &Claim, loaded: &Loaded| {
            protocol::release(loaded.record(), claim.fence, loaded.now)
        };
        self.verb(items, |claim| &claim.identity, |_| Wanted::None, verb)
            .await
    }

    pub(crate) async fn mark_unknown(
        &self,
        items: Batch<MarkRequest>,
    ) -> Batch<Result<MarkAnswer>> {
        let verb = |request: &MarkRequest, loaded: &Loaded| {
            protocol::mark_unknown(loaded.record(), request, loaded.now)
        };
        self.verb(
            items,
            |request| &request.claim.identity,
            |_| Wanted::None,
            verb,
        )
        .await
    }

    pub(crate) async fn resolve(
        &self,
        items: Batch<ResolveRequest>,
    ) -> Batch<Result<ResolveAnswer>> {
        let verb = |request: &ResolveRequest, loaded: &Loaded| {
            protocol::resolve(loaded.record(), request, loaded.now)
        };
        // The digest of an erased body is taken from the whole of it.
        let wanted = |request: &ResolveRequest| match request.resolution {
            Resolution::EraseContents => Wanted::Compared(request.claim.fence),
            Resolution::Settle { .. }
            | Resolution::Release
            | Resolution::Erase
            | Resolution::Correct { .. } => Wanted::None,
        };
        let answers = self
            .verb(
                items.clone(),
                |request| &request.claim.identity,
                wanted,
                verb,
            )
            .await;
        let each = items
            .into_iter()
            .zip(answers)
            .map(|(request, answer)| async move {
                match answer {
                    Ok(ResolveAnswer::Refused) => self.resolve_archived(&request).await,
                    answer => answer,
                }
            });
        join_all(each).await.into()
    }
}

/// What the protocol says of a claim.
///
/// A record with the claim's own nonce is its own grant, whose answer was lost and which nobody has run: if its
/// lease has ended meanwhile, it is known to have had no effect and never to have one.
fn claim_step(loaded: &Loaded, item: &ClaimItem) -> Step<ClaimAnswer> {
    let mut request = item.request.clone();
    if let Some(stored) = loaded
        .stored
        .as_ref()
        .filter(|stored| stored.nonce == item.nonce)
        .filter(|stored| stored.record.fingerprint == request.fingerprint)
    {
        let record = &stored.record;
        match Standing::of(Some(record), loaded.now) {
            Standing::Running { lease_until, .. } => {
                return Step {
                    answer: ClaimAnswer::Granted(protocol::lease_of(record, lease_until)),
                    change: protocol::Change::None,
                    events: Vec::new(),
                    audit: None,
                };
            }
            // The caller of a claim with a name may have heard of it, and may have run.
            Standing::Ended { .. } if item.request.nonce.is_none() => {
                request.takeover = Takeover::Of(record.fence);
            }
            // Once it is on record as unknown, somebody may have been told so: it stays a decision of others.
            Standing::Ended { .. }
            | Standing::Unknown { .. }
            | Standing::Absent
            | Standing::Settled { .. } => {}
        }
    }
    protocol::claim(loaded.record(), &request, TO_BE_DRAWN, loaded.now)
}

/// A grant with the fence that the server drew for it.
fn with_fence(answer: ClaimAnswer, drawn: Option<Fence>) -> ClaimAnswer {
    match (answer, drawn) {
        (ClaimAnswer::Granted(mut lease), Some(fence)) => {
            lease.claim.fence = fence;
            ClaimAnswer::Granted(lease)
        }
        (answer, _) => answer,
    }
}

/// The places of items, in rounds in which no identity comes twice and none overtakes another.
fn rounds<I>(items: &[I], identity: impl Fn(&I) -> &Identity) -> Vec<Vec<usize>> {
    let mut seen = std::collections::HashMap::new();
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let count: &mut usize = seen.entry(identity(item).digest()).or_default();
        if *count == rounds.len() {
            rounds.push(Vec::new());
        }
        rounds[*count].push(place);
        *count += 1;
    }
    rounds
}

/// A duration in whole milliseconds, rounded up.
fn ms(duration: std::time::Duration) -> u128 {
    duration.as_nanos().div_ceil(1_000_000)
}
