//! Claims that may have been granted though their callers were told that they were not.
//!
//! The connection broke, and the server did not come back in time. Nobody runs under such a claim, but its
//! lease would end as an unknown outcome. So it is given back as soon as the server answers again. The same goes
//! for a claim whose caller went away before it heard.

use std::sync::Weak;
use std::time::Duration;

use semel_core::protocol;
use semel_core::record::Claim;
use semel_core::{Error, Kind};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use crate::claims::ClaimItem;
use crate::engine::Engine;
use crate::keep::bar_values;
use crate::link::{Failure, Link};
use crate::rows::{Stored, digest, sql_ms};
use crate::session::{Session, VACANT_FOR};

/// The first and the longest pause between two tries.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Claims that a caller waits for. If it goes away before it hears, nothing will run under them.
pub(crate) struct Unheard {
    engine: Weak<Engine>,
    items: Vec<ClaimItem>,
}

impl Unheard {
    pub(crate) fn new(engine: Weak<Engine>, items: &[ClaimItem]) -> Self {
        Self {
            engine,
            items: items.to_vec(),
        }
    }

    /// The caller has heard.
    pub(crate) fn heard(mut self) {
        self.items.clear();
    }
}

impl Drop for Unheard {
    fn drop(&mut self) {
        let items = std::mem::take(&mut self.items);
        // Without a runtime the process is ending, and the leases with it.
        if let (false, Ok(runtime)) = (items.is_empty(), Handle::try_current()) {
            drop(runtime.spawn(give_back(self.engine.clone(), items)));
        }
    }
}

/// Gives claims back until that is done, their leases have ended, or the store is gone.
pub(crate) async fn give_back(engine: Weak<Engine>, mut items: Vec<ClaimItem>) {
    // As every batch, so that two of them never wait for each other.
    items.sort_by_key(|item| digest(item.identity()));
    let terms = items.iter().map(|item| item.request.lease.get());
    let (began, longest) = (Instant::now(), terms.max().unwrap_or_default());
    let mut pause = PAUSE_FIRST;
    while !items.is_empty() && began.elapsed() < longest + PAUSE_MAX {
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
        let Some(engine) = engine.upgrade() else {
            return;
        };
        items = still_doubtful(&engine, items).await;
    }
}

/// Tries all at once, and each by itself if the server objects: one of them may be locked for long.
async fn still_doubtful(engine: &Engine, items: Vec<ClaimItem>) -> Vec<ClaimItem> {
    match released(engine, &items).await {
        Ok(()) => return Vec::new(),
        Err(Failure::Lost(_) | Failure::Failed(_)) => return items,
        Err(Failure::Refused(_)) => {}
    }
    let mut left = Vec::new();
    for item in items {
        if released(engine, std::slice::from_ref(&item)).await.is_err() {
            left.push(item);
        }
    }
    left
}

async fn released(engine: &Engine, items: &[ClaimItem]) -> Result<(), Failure> {
    let mut link = engine.links.get().await?;
    link.begin().await?;
    let mut session = Session::new(&mut link, &engine.sql);
    let released = release_own(&mut session, items).await;
    link.end(released).await
}

async fn release_own(session: &mut Session<'_, Link>, items: &[ClaimItem]) -> Result<(), Failure> {
    let identities: Vec<_> = items.iter().map(ClaimItem::identity).collect();
    let locked = session.lock(&identities).await?;
    for item in items {
        match locked.get(&digest(item.identity())) {
            Some(stored) if item.is_own(stored) => release(session, item, stored).await?,
            Some(_somebody_else) => {}
            None => bar(session, item).await?,
        }
    }
    Ok(())
}

async fn release(
    session: &mut Session<'_, Link>,
    item: &ClaimItem,
    stored: &Stored,
) -> Result<(), Failure> {
    let now = session.now().await?;
    let claim = Claim {
        identity: item.identity().clone(),
        fence: stored.fence,
    };
    let step = protocol::release(stored.record.as_ref(), claim.fence, now);
    session
        .finish(&claim.identity, Some(stored), step, item.nonce, now)
        .await?;
    Ok(())
}

/// The claim may still lie in a buffer on its way, or in a server that stands still. It must not come true when
/// nobody looks any more.
async fn bar(session: &mut Session<'_, Link>, item: &ClaimItem) -> Result<(), Failure> {
    let params = bar_values(item.identity(), None, sql_ms(VACANT_FOR));
    let barred = session.driver.ask(&session.sql.bar, &params).await?;
    match barred.is_empty() {
        false => Ok(()),
        // It came true just now: the next try sees it.
        true => Err(Error::new(Kind::Unavailable, "a claim was granted meanwhile").into()),
    }
}
