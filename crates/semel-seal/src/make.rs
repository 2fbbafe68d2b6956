//! Makes data keys: many tenants' at once, each by a claim, so that of several processes one makes it.

use std::collections::HashMap;
use std::sync::PoisonError;
use std::time::Duration;

use bytes::Bytes;
use semel_core::store::{
    BATCH_MAX, Batch, ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, Takeover,
};
use semel_core::{
    Error, Fingerprint, Identity, Kind, LeaseTerm, Outcome, Result, Retention, StoreExt, Tenant,
};
use tokio::time::{Instant, sleep};

use crate::cipher::DataKey;
use crate::found::Sealing;
use crate::kek::{Kek, random};
use crate::keyring::{Keyring, ToSeal};
use crate::wrapped::{SCOPE, Wrapped, identity, mark_of_store};

/// How often a key that another process is making is asked for.
const LOOKS_MAX: usize = 200;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a process has to put a key on record before another one makes it instead.
const MAKES_FOR: Duration = Duration::from_secs(5);

/// A tenant, and the slot that its key is to have.
pub(crate) type Wanted = (Tenant, &'static str);

impl Keyring {
    /// Makes data keys, or waits for those that other processes make. What is on record then is what counts.
    pub(crate) async fn make(&self, wanted: Vec<Wanted>, kek: &Kek) -> HashMap<Tenant, ToSeal> {
        let mut made = HashMap::new();
        if let Err(error) = self.mark().await {
            let failed = |(tenant, _)| (tenant, Err(error.duplicate()));
            return wanted.into_iter().map(failed).collect();
        }
        let mut missing = wanted;
        for _ in 0..LOOKS_MAX {
            let was_kept = self.make_once(&mut missing, kek, &mut made).await;
            let tenants: Vec<_> = missing.iter().map(|(tenant, _)| tenant).collect();
            let loaded = self.load(&tenants).await;
            let mut left = Vec::new();
            for ((tenant, _), found) in missing.into_iter().zip(loaded) {
                match found.and_then(|found| found.sealing()) {
                    Ok(Sealing::With(key)) => drop(made.insert(tenant, Ok(Some(key)))),
                    Ok(Sealing::Make(slot)) => left.push((tenant, slot)),
                    Err(error) => drop(made.insert(tenant, Err(error))),
                }
            }
            missing = left;
            match missing.is_empty() {
                true => return made,
                false if was_kept => {}
                false => sleep(LOOK_EVERY).await,
            }
        }
        let stuck = |(tenant, _)| {
            let message = "another process is making this tenant's data key, and does not end";
            let error = Error::new(Kind::Unavailable, message);
            (tenant, Err(error.about_an_item()))
        };
        made.extend(missing.into_iter().map(stuck));
        made
    }

    /// Tries to put one new key on record for each; those of which nothing can be said have failed. Whether any was put there.
    async fn make_once(
        &self,
        missing: &mut Vec<Wanted>,
        kek: &Kek,
        made: &mut HashMap<Tenant, ToSeal>,
    ) -> bool {
        let (mut left, mut records) = (Vec::new(), Vec::new());
        for (tenant, slot) in std::mem::take(missing) {
            match new_key(&tenant, kek) {
                Ok(wrapped) => {
                    records.push((identity(&tenant, slot), wrapped.encode()));
                    left.push((tenant, slot));
                }
                Err(error) => drop(made.insert(tenant, Err(error))),
            }
        }
        let mut any = false;
        for ((tenant, slot), kept) in left.into_iter().zip(self.keep_all(records).await) {
            match kept {
                Ok(was_kept) => {
                    any |= was_kept;
                    missing.push((tenant, slot));
                }
                Err(error) => drop(made.insert(tenant, Err(error))),
            }
        }
        any
    }

    /// Marks the store as one that has data keys, before the first of them.
    async fn mark(&self) -> Result<()> {
        let said = || {
            self.0
                .is_sealed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        for _ in 0..LOOKS_MAX {
            if matches!(*said(), Some((true, _))) {
                return Ok(());
            }
            if self.0.store.look_up_one(mark_of_store()).await?.is_some()
                || self.keep(mark_of_store(), Bytes::new()).await?
            {
                *said() = Some((true, Instant::now()));
                return Ok(());
            }
            sleep(LOOK_EVERY).await;
        }
        let message = "another process is marking the store as sealed, and does not end";
        Err(Error::new(Kind::Unavailable, message))
    }

    /// Puts one text on record; whether this call did it.
    pub(crate) async fn keep(&self, identity: Identity, text: Bytes) -> Result<bool> {
        let mut kept = self.keep_all(vec![(identity, text)]).await;
        kept.pop().expect("one record has one answer")
    }

    /// Puts texts on record, for as long as any record is kept; of each, whether this call did it.
    async fn keep_all(&self, records: Vec<(Identity, Bytes)>) -> Vec<Result<bool>> {
        let mut kept = Vec::with_capacity(records.len());
        for records in records.chunks(BATCH_MAX) {
            kept.extend(self.keep_some(records).await);
        }
        kept
    }

    async fn keep_some(&self, records: &[(Identity, Bytes)]) -> Vec<Result<bool>> {
        let claims: Batch<_> = records
            .iter()
            .map(|(identity, _)| claim(identity))
            .collect();
        let (mut kept, mut granted, mut settles) = (Vec::new(), Vec::new(), Batch::new());
        let answers = self.0.store.claim(claims).await.into_iter();
        for (at, (answer, (_, text))) in answers.zip(records).enumerate() {
            kept.push(match answer {
                Ok(ClaimAnswer::Granted(lease)) => {
                    granted.push(at);
                    settles.push(SettleRequest {
                        claim: lease.claim,
                        outcome: Outcome::succeeded(text.clone()),
                        took: Duration::ZERO,
                        retention: longest(),
                    });
                    Ok(false)
                }
                Ok(_) => Ok(false),
                Err(error) => Err(error),
            });
        }
        if !settles.is_empty() {
            let settled = self.0.store.settle(settles).await.into_iter();
            for (at, answer) in granted.into_iter().zip(settled) {
                kept[at] = answer.map(|answer| answer == SettleAnswer::Settled);
            }
        }
        kept
    }
}

fn new_key(tenant: &Tenant, kek: &Kek) -> Result<Wrapped> {
    let secret = random()?;
    Wrapped::new(DataKey::new(&secret).id(), kek, tenant, &secret)
}

pub(crate) fn claim(identity: &Identity) -> ClaimRequest {
    let fingerprint = Fingerprint::of_bytes(SCOPE.as_bytes());
    let mut request = ClaimRequest::new(identity.clone(), fingerprint);
    // A process that died while it made the key has left nothing that counts.
    request.takeover = Takeover::Allowed;
    request.lease = LeaseTerm::new(MAKES_FOR).expect("some seconds are a term");
    request
}

pub(crate) fn longest() -> Retention {
    Retention::delete_after(Retention::MAX).expect("the longest retention is allowed")
}
