//! Claims that may have been granted though their callers were told that they were not.
//!
//! The connection broke, and the server did not come back in time. Nobody runs under such a claim, but its
//! lease would end as an unknown outcome. So it is given back as soon as the server answers again.

use std::sync::Weak;
use std::time::Duration;

use semel_core::protocol;
use semel_core::record::Claim;
use tokio::time::{Instant, sleep};

use crate::claims::ClaimItem;
use crate::engine::Engine;
use crate::link::{Failure, Link};
use crate::rows::digest;
use crate::session::Session;

/// The first and the longest pause between two tries.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Gives claims back until that is done, their leases have ended, or the store is gone.
pub(crate) async fn give_back(engine: Weak<Engine>, items: Vec<ClaimItem>) {
    let terms = items.iter().map(|item| item.request.lease.get());
    let (began, longest) = (Instant::now(), terms.max().unwrap_or_default());
    let mut pause = PAUSE_FIRST;
    while began.elapsed() < longest + PAUSE_MAX {
        sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
        let Some(engine) = engine.upgrade() else {
            return;
        };
        if released(&engine, &items).await.is_ok() {
            return;
        }
    }
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
    let now = session.now().await?;
    for item in items {
        let Some(stored) = locked.get(&digest(item.identity())).filter(|s| item.is_own(s)) else {
            continue;
        };
        let claim = Claim {
            identity: item.identity().clone(),
            fence: stored.fence,
        };
        let step = protocol::release(stored.record.as_ref(), claim.fence, now);
        session.finish(&claim.identity, Some(stored), step, item.nonce, now).await?;
    }
    Ok(())
}
