//! Asking providers about unknown outcomes on demand: what the admin side must know of those who can be asked.
//!
//! A door of the process that has reconcile URLs says by [`Reconcilers`] whom to ask about a record. What an answer means is the
//! core's rule, [`Reconciled::resolution`]; here are the limits: how long an answer may take, and how many are waited for at once.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use semel_core::once::Reconciled;
use semel_core::store::Resolution;
use semel_core::{Claim, Record, Retention, Scope};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The most questions at once, of all callers together.
pub(crate) const AT_ONCE_MAX: usize = 16;
/// How long an answer may take, whatever the timeout of the URL.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// How long a question waits for its turn.
const TURN_MAX: Duration = Duration::from_secs(10);
/// How long one question takes at most.
pub(crate) const QUESTION_MAX: Duration = ANSWER_MAX.saturating_add(TURN_MAX);
/// The most bytes of a reason that comes from a provider or from the way to it.
const WHY_BYTES_MAX: usize = 300;

/// The boxed future of [`Reconciler::ask`].
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Reconciled, String>> + Send + 'a>>;

/// Who knows whether an effect happened.
pub trait Reconciler: Send + Sync {
    /// Where it is asked, for people. It holds no secret.
    fn url(&self) -> String;

    /// How long an outcome is kept that it says.
    fn retention(&self) -> Retention;

    /// Did the claim take effect? An error says why that is not known.
    fn ask<'a>(&'a self, claim: &'a Claim) -> Asking<'a>;
}

/// Finds whom to ask about a record.
pub trait Reconcilers: Send + Sync {
    /// Who knows about it.
    fn of(&self, record: &Record) -> Result<Arc<dyn Reconciler>, Missing>;
}

/// Why there is nothing to ask about a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missing {
    /// The process serves no gateway.
    Gateway,
    /// No route has the scope.
    Route,
    /// The routes of the scope have no reconcile URL.
    Url,
    /// Several routes have the scope and do not ask the same.
    Single,
}

impl Missing {
    /// The reason in words, and what to do instead.
    pub fn says(self, scope: &Scope) -> String {
        let why = match self {
            Self::Gateway => {
                "this process serves no gateway, whose routes have the reconcile URLs".to_owned()
            }
            Self::Route => format!("no route of this process has the scope {scope}"),
            Self::Url => format!(
                "the route of the scope {scope} has no reconcile URL (unknown: {{ reconcile: URL }})"
            ),
            Self::Single => format!(
                "several routes have the scope {scope} and ask different URLs or keep outcomes differently, and the record does not say which of them it came by"
            ),
        };
        format!("{why}; ask the provider yourself, then resolve or release the record")
    }
}

/// Asks on demand. Cheap to clone; clones share what they know and their limits.
#[derive(Clone)]
pub struct Reconciling(Arc<Inner>);

struct Inner {
    // A plain lock: it is held for the clone of one pointer, and never across an await.
    reconcilers: RwLock<Option<Arc<dyn Reconcilers>>>,
    turns: Semaphore,
}

impl Default for Reconciling {
    fn default() -> Self {
        Self(Arc::new(Inner {
            reconcilers: RwLock::new(None),
            turns: Semaphore::new(AT_ONCE_MAX),
        }))
    }
}

impl fmt::Debug for Reconciling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reconciling").finish_non_exhaustive()
    }
}

impl Reconciling {
    /// From now on these say whom to ask.
    pub fn set(&self, reconcilers: Arc<dyn Reconcilers>) {
        let place = self.0.reconcilers.write();
        *place.unwrap_or_else(PoisonError::into_inner) = Some(reconcilers);
    }

    /// Whom to ask about a record.
    pub(crate) fn of(&self, record: &Record) -> Result<Arc<dyn Reconciler>, Missing> {
        let known = self.0.reconcilers.read();
        let known = known.unwrap_or_else(PoisonError::into_inner).clone();
        known.ok_or(Missing::Gateway)?.of(record)
    }

    /// Asks about a claim within the limits: what the answer decides, or why the outcome stays unknown.
    pub(crate) async fn ask(
        &self,
        reconciler: &dyn Reconciler,
        claim: &Claim,
    ) -> Result<Resolution, String> {
        let answer = self.answer(reconciler, claim).await;
        let decided = answer.and_then(|answer| {
            let resolution = answer.resolution(reconciler.retention());
            resolution.ok_or_else(|| "it cannot tell".to_owned())
        });
        decided.map_err(|why| {
            let (url, scope, fence) = (reconciler.url(), claim.identity.scope(), claim.fence);
            let why = short(&why);
            tracing::warn!(target: "semel::admin", url, %scope, %fence, why, "an outcome stays unknown");
            why
        })
    }

    async fn answer(
        &self,
        reconciler: &dyn Reconciler,
        claim: &Claim,
    ) -> Result<Reconciled, String> {
        let late = |_| {
            let waited = TURN_MAX.as_secs();
            format!(
                "nothing was asked: {AT_ONCE_MAX} other questions were under way for {waited} s"
            )
        };
        let _turn = timeout(TURN_MAX, self.0.turns.acquire())
            .await
            .map_err(late)?;
        let late = |_| format!("no answer within {} s", ANSWER_MAX.as_secs());
        timeout(ANSWER_MAX, reconciler.ask(claim))
            .await
            .map_err(late)?
    }
}

/// One line of bounded length.
fn short(why: &str) -> String {
    let line: String = why
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    line[..line.floor_char_boundary(WHY_BYTES_MAX)].to_owned()
}
