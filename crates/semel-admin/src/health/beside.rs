//! What operators should know although the process may well be ready: a sweep that fails or is behind, a source that is not read, a service that
//! is not reached.
//!
//! A gateway that took itself out of the load balancer because a broker is away would turn one outage into two, so by default none of them counts.

use std::borrow::Cow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::store::Swept;
use semel_core::{Error, duration};
use semel_inbox::source::{SourceState, SourceView};
use tokio::time::Instant;

use super::{Health, Names, PartReadiness, Said};

/// So many steps in a row may fail: a store that was away for a moment is swept at the next one.
const STEPS_FAILED_MAX: u32 = 3;
/// So long there may always be more to sweep.
const BEHIND_MAX: Duration = Duration::from_secs(60);
/// So long a step may take, the pause before it included. One is taken every second.
const STEP_MAX: Duration = Duration::from_secs(300);
/// So many connections in a row may fail until a service counts as not reached.
const UNREACHED_MAX: u32 = 1;
/// So many sources and services are shown.
const SHOWN_MAX: usize = 1_000;

/// What makes the process unready, beside the store and the doors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beside {
    /// A sweep that fails or is behind.
    pub sweep: bool,
    /// A source that is not read.
    pub sources: bool,
    /// A service behind the gateway that is not reached.
    pub upstreams: bool,
}

/// A service behind the gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its host and port.
    pub name: String,
    /// How many connections to it have failed since one was made.
    pub unreached: u32,
}

type Look<T> = Box<dyn Fn() -> Vec<T> + Send + Sync>;

/// Where to look.
#[derive(Default)]
pub(super) struct Looks {
    counts: Mutex<Beside>,
    sweep: Mutex<Option<Sweep>>,
    sources: Mutex<Option<Look<SourceView>>>,
    upstreams: Mutex<Option<Look<Upstream>>>,
}

impl std::fmt::Debug for Looks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Looks").finish_non_exhaustive()
    }
}

impl Health {
    /// From now on these make the process unready, too.
    pub fn count(&self, counts: Beside) {
        *locked(&self.0.beside.counts) = counts;
    }

    /// Looks at these sources from now on, and at no others.
    pub fn watch_sources(&self, look: Option<Box<dyn Fn() -> Vec<SourceView> + Send + Sync>>) {
        *locked(&self.0.beside.sources) = look;
    }

    /// Looks at these services from now on.
    pub fn watch_upstreams(&self, look: Box<dyn Fn() -> Vec<Upstream> + Send + Sync>) {
        *locked(&self.0.beside.upstreams) = Some(look);
    }

    /// A step of the sweep has ended.
    pub fn swept(&self, step: Result<&Swept, &Error>) {
        let mut sweep = locked(&self.0.beside.sweep);
        sweep.get_or_insert_default().step(step, Instant::now());
    }

    /// Other processes of the store have swept it, and nothing was left to do here.
    pub fn swept_elsewhere(&self) {
        let mut sweep = locked(&self.0.beside.sweep);
        let sweep = sweep.get_or_insert_default();
        (sweep.behind, sweep.ended) = (None, Some(Instant::now()));
    }
}

impl Looks {
    /// The sweep and the sources, and apart from them the services.
    pub(super) fn look(
        &self,
        now: Instant,
        names: Names,
    ) -> (Vec<PartReadiness>, Vec<PartReadiness>) {
        let counts = *locked(&self.counts);
        let sweep = locked(&self.sweep)
            .as_ref()
            .map(|sweep| part("sweep", sweep.said(now), counts.sweep));
        let sources = locked(&self.sources).as_ref().map(|look| look());
        let sources = sources.into_iter().flatten().take(SHOWN_MAX).enumerate();
        let sources = sources.map(|(at, view)| {
            let name = match names {
                Names::Shown => format!("source {} of {}", view.name, view.consumer),
                Names::Hidden => format!("source {}", at + 1),
            };
            part(name, source(&view.state), counts.sources)
        });
        let upstreams = locked(&self.upstreams).as_ref().map(|look| look());
        let upstreams = upstreams.into_iter().flatten().take(SHOWN_MAX).enumerate();
        let upstreams = upstreams.map(|(at, upstream)| {
            let said = reached(upstream.unreached);
            let name = match names {
                Names::Shown => upstream.name,
                Names::Hidden => (at + 1).to_string(),
            };
            part(name, said, counts.upstreams)
        });
        (
            sweep.into_iter().chain(sources).collect(),
            upstreams.collect(),
        )
    }
}

fn part(name: impl Into<Cow<'static, str>>, said: Said, counts: bool) -> PartReadiness {
    PartReadiness {
        counts,
        ..PartReadiness::of(name, said)
    }
}

fn locked<T>(place: &Mutex<T>) -> MutexGuard<'_, T> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state's word; its error, which may name hosts, is in the log.
fn source(state: &SourceState) -> Said {
    match state {
        SourceState::Opening => Said::ReadyBut(Cow::Borrowed("it is being opened")),
        SourceState::BacklogFull => Said::ReadyBut(Cow::Borrowed("too much waits in the inbox")),
        state if state.is_well() => Said::Ready,
        state => Said::NotReady(Cow::Owned(format!("it is not read: {}", state.name()))),
    }
}

fn reached(unreached: u32) -> Said {
    match unreached {
        0 => Said::Ready,
        UNREACHED_MAX => Said::ReadyBut(Cow::Borrowed("the last connection failed")),
        failed => Said::NotReady(Cow::Owned(format!("the last {failed} connections failed"))),
    }
}

/// How the sweep goes.
#[derive(Debug, Default)]
struct Sweep {
    /// Steps that failed since one did not.
    failed: u32,
    /// The kind of the last error.
    kind: &'static str,
    /// Since when every step left something.
    behind: Option<Instant>,
    /// When the last step ended.
    ended: Option<Instant>,
}

impl Sweep {
    fn step(&mut self, step: Result<&Swept, &Error>, now: Instant) {
        self.ended = Some(now);
        match step {
            Ok(swept) => {
                self.failed = 0;
                self.behind = swept.more.then(|| self.behind.unwrap_or(now));
            }
            Err(error) => {
                self.failed = self.failed.saturating_add(1);
                self.kind = error.kind().name();
            }
        }
    }

    fn said(&self, now: Instant) -> Said {
        let since = |at: Option<Instant>| at.map(|at| now.saturating_duration_since(at));
        let (behind, still) = (since(self.behind), since(self.ended));
        let why = match (self.failed, behind, still) {
            (failed, ..) if failed >= STEPS_FAILED_MAX => {
                format!("the last {failed} steps failed: {}", self.kind)
            }
            (_, _, Some(still)) if still >= STEP_MAX => {
                format!("no step has ended for {}", duration::show(still))
            }
            (_, Some(behind), _) if behind >= BEHIND_MAX => format!(
                "behind for {}: more ends its retention than is swept",
                duration::show(behind)
            ),
            _ => return Said::Ready,
        };
        Said::NotReady(Cow::Owned(why))
    }
}

#[cfg(test)]
mod tests {
    use semel_core::Kind;

    use super::*;

    fn why(said: &Said) -> Option<&str> {
        match said {
            Said::Ready => None,
            Said::ReadyBut(why) | Said::NotReady(why) => Some(why),
        }
    }

    #[test]
    fn a_sweep_that_fails_again_and_again_or_is_long_behind_is_named() {
        let now = Instant::now();
        let later = now + Duration::from_secs(61);
        let (mut sweep, away) = (Sweep::default(), Error::new(Kind::Unavailable, "x"));
        for _ in 0..2 {
            sweep.step(Err(&away), now);
        }
        assert_eq!(why(&sweep.said(now)), None);
        sweep.step(Err(&away), now);
        let said = sweep.said(now);
        assert_eq!(why(&said), Some("the last 3 steps failed: unavailable"));
        let more = Swept {
            more: true,
            ..Swept::default()
        };
        sweep.step(Ok(&more), now);
        assert_eq!(why(&sweep.said(now)), None);
        sweep.step(Ok(&more), later);
        assert!(why(&sweep.said(later)).is_some_and(|why| why.starts_with("behind for 1m")));
        sweep.step(Ok(&Swept::default()), later);
        assert_eq!(why(&sweep.said(later)), None);
    }

    #[test]
    fn a_sweep_that_stands_still_is_named() {
        let now = Instant::now();
        let mut sweep = Sweep::default();
        sweep.step(Ok(&Swept::default()), now);
        assert_eq!(why(&sweep.said(now + Duration::from_secs(299))), None);
        let said = sweep.said(now + STEP_MAX);
        assert_eq!(why(&said), Some("no step has ended for 5m"));
        sweep.step(Ok(&Swept::default()), now + STEP_MAX);
        assert_eq!(why(&sweep.said(now + STEP_MAX)), None);
    }

    #[test]
    fn a_service_is_not_reached_once_several_connections_failed() {
        assert!(matches!(reached(0), Said::Ready));
        assert!(matches!(reached(1), Said::ReadyBut(_)));
        assert!(matches!(reached(2), Said::NotReady(_)));
    }
}
