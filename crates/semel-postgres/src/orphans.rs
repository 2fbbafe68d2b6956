//! How an orphaned claim is given back: see [`semel_core::store::remote::Orphans`].

use semel_core::protocol;
use semel_core::record::Claim;
use semel_core::store::remote::{GiveBack, GivenBack, Orphan};
use semel_core::{Error, Kind, Result};
use tokio::time::Instant;

use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::keep::bar_values;
use crate::records::{Stored, digest, sql_ms};
use crate::session::{Session, VACANT_FOR};
use crate::verbs::claims::ClaimItem;

/// How many claims are given back at the same time: each needs a connection, and callers need them more.
pub(crate) const TURNS_MAX: usize = 2;

impl GiveBack for Engine {
    async fn give_back(&self, orphan: &Orphan) -> Result<GivenBack> {
        let failed = |failure: Failure| failure.into_error("giving a claim back");
        released(self, orphan).await.map_err(failed)?;
        Ok(GivenBack::Done)
    }
}

impl ClaimItem {
    /// This claim, in case that its caller does not hear of it. It may arrive for as long as it is tried. A claim with
    /// a name is not given back: its caller may be asking for it again at this moment.
    pub(crate) fn orphan(&self, engine: &Engine) -> Option<Orphan> {
        (!self.is_named()).then(|| Orphan {
            identity: self.identity().clone(),
            nonce: self.nonce,
            lease: self.request.lease.get(),
            arrives_until: Instant::now() + engine.patience,
        })
    }
}

async fn released(engine: &Engine, orphan: &Orphan) -> Result<(), Failure> {
    let mut link = engine.links.get().await?;
    link.begin().await?;
    let mut session = Session::new(&mut link, &engine.sql);
    let released = release_own(&mut session, orphan).await;
    link.end(released).await
}

async fn release_own(session: &mut Session<'_, Link>, orphan: &Orphan) -> Result<(), Failure> {
    let locked = session.lock(&[&orphan.identity]).await?;
    match locked.get(&digest(&orphan.identity)) {
        Some(stored) if stored.nonce == orphan.nonce.to_i64() => {
            release(session, orphan, stored).await
        }
        Some(_somebody_else) => Ok(()),
        None => bar(session, orphan).await,
    }
}

async fn release(
    session: &mut Session<'_, Link>,
    orphan: &Orphan,
    stored: &Stored,
) -> Result<(), Failure> {
    let now = session.now().await?;
    let claim = Claim {
        identity: orphan.identity.clone(),
        fence: stored.fence,
    };
    let step = protocol::release(stored.record.as_ref(), claim.fence, now);
    let nonce = orphan.nonce.to_i64();
    session
        .finish(&claim.identity, Some(stored), step, nonce, now)
        .await?;
    Ok(())
}

/// The claim may still lie in a buffer on its way, or in a server that stands still. It must not come true when
/// no process looks any more.
async fn bar(session: &mut Session<'_, Link>, orphan: &Orphan) -> Result<(), Failure> {
    let params = bar_values(&orphan.identity, None, sql_ms(VACANT_FOR));
    let barred = session.driver.ask(&session.sql.bar, &params).await?;
    match barred.is_empty() {
        false => Ok(()),
        // It came true just now: the next try sees it.
        true => Err(Error::new(Kind::Unavailable, "a claim was granted meanwhile").into()),
    }
}
