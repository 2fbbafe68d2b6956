//! Looks whether services that were not reached are back: a load balancer that took the process out of its pool sends it no requests that would
//! find out.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{Need, Pool};

/// The pause between two looks.
const EVERY: Duration = Duration::from_secs(2);
/// The most connections that are made at once.
const AT_ONCE_MAX: usize = 64;

/// Connects to those of `pools` that are not reached, again and again. Dropping it ends what is under way.
pub(crate) async fn watch(pools: impl Fn() -> Vec<Arc<Pool>>) -> Infallible {
    loop {
        sleep(EVERY).await;
        let mut away = pools();
        away.retain(|pool| pool.unreached() > 0);
        for some in away.chunks(AT_ONCE_MAX) {
            let looks: JoinSet<()> = some.iter().cloned().map(Pool::look).collect();
            looks.join_all().await;
        }
    }
}

impl Pool {
    /// One connection, which requests may use if they can share it. A failure is not counted: requests do that.
    async fn look(self: Arc<Self>) {
        let dialled = timeout(self.dial.connect, self.dial.dial(&self, Need::Any)).await;
        if let Ok(Ok(_)) = dialled {
            self.reached();
            let upstream = self.target.authority();
            tracing::info!(%upstream, "a service is reached again");
        }
    }
}
