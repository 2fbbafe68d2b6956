//! What operators should know although the process may well be ready: a sweep that fails or is behind, a source that is not read, a service that
//! is not reached.
//!
//! A gateway that took itself out of the load balancer because a broker is away would turn one outage into two, so by default none of them counts.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::duration;
use semel_inbox::source::{SourceState, SourceView};
use tokio::time::Instant;

use super::{Health, Names, PartReadiness, Said};
use crate::metrics::Metrics;
use crate::sweeps::{Moment, Standing, Sweeps, WHOLE};

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
    sweeps: Mutex<Option<Arc<Sweeps>>>,
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

    /// Looks at the sweeps that these metrics hear of from now on.
    pub fn watch_sweeps(&self, metrics: &Metrics) {
        *locked(&self.0.beside.sweeps) = Some(metrics.sweeps());
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
        let sweeps = locked(&self.sweeps).clone();
        let sweep = sweeps.and_then(|sweeps| swept(&sweeps.standing(), now));
        let sweep = sweep.map(|said| part("sweep", said, counts.sweep));
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

/// The worst of what there is to say about the sweeps of a store's parts; nothing if it has none.
fn swept(parts: &[(&'static str, Standing)], now: Instant) -> Option<Said> {
    let said = |why: fn(&Standing, Instant) -> Option<String>| {
        let mut parts = parts.iter();
        parts.find_map(|(part, standing)| {
            let why = why(standing, now)?;
            Some(match *part {
                WHOLE => why,
                part => format!("{part}: {why}"),
            })
        })
    };
    let why = [fails, stands_still, is_behind].into_iter().find_map(said);
    let said = why.map_or(Said::Ready, |why| Said::NotReady(Cow::Owned(why)));
    (!parts.is_empty()).then_some(said)
}

fn fails(sweep: &Standing, _: Instant) -> Option<String> {
    let Standing { failed, kind, .. } = sweep;
    (*failed >= STEPS_FAILED_MAX).then(|| format!("the last {failed} steps failed: {kind}"))
}

fn stands_still(sweep: &Standing, now: Instant) -> Option<String> {
    let still = since(sweep.ended, now);
    (still >= STEP_MAX).then(|| format!("no step has ended for {}", duration::show(still)))
}

fn is_behind(sweep: &Standing, now: Instant) -> Option<String> {
    let behind = duration::show(since(sweep.behind?, now));
    (since(sweep.behind?, now) >= BEHIND_MAX)
        .then(|| format!("behind for {behind}: more ends its retention than is swept"))
}

fn since(at: Moment, now: Instant) -> Duration {
    now.saturating_duration_since(at.instant)
}

#[cfg(test)]
mod tests {
    use semel_core::store::Swept;
    use semel_core::{Error, Kind};

    use super::*;

    fn why(said: &Said) -> Option<&str> {
        match said {
            Said::Ready => None,
            Said::ReadyBut(why) | Said::NotReady(why) => Some(why),
        }
    }

    /// What is said of the sweeps of these parts after so many seconds.
    fn heard(sweeps: &Sweeps, began: Moment, seconds: u64) -> Option<String> {
        let now = began.instant + Duration::from_secs(seconds);
        let said = swept(&sweeps.standing(), now).unwrap();
        why(&said).map(str::to_owned)
    }

    fn after(began: Moment, seconds: u64) -> Moment {
        Moment {
            instant: began.instant + Duration::from_secs(seconds),
            ..began
        }
    }

    #[test]
    fn a_sweep_that_fails_again_and_again_or_is_long_behind_is_named() {
        let began = Moment::now();
        let (sweeps, away) = (Sweeps::new(began), Error::new(Kind::Unavailable, "x"));
        let whole = (WHOLE, 0);
        assert!(swept(&sweeps.standing(), began.instant).is_none());
        for _ in 0..2 {
            sweeps.stepped(whole, Err(&away), began);
        }
        assert_eq!(heard(&sweeps, began, 0), None);
        sweeps.stepped(whole, Err(&away), began);
        let failed = Some("the last 3 steps failed: unavailable".to_owned());
        assert_eq!(heard(&sweeps, began, 0), failed);
        let more = Swept {
            more: true,
            ..Swept::default()
        };
        sweeps.stepped(whole, Ok(&more), began);
        assert_eq!(heard(&sweeps, began, 0), None);
        sweeps.stepped(whole, Ok(&more), after(began, 61));
        assert!(heard(&sweeps, began, 61).is_some_and(|why| why.starts_with("behind for 1m")));
        sweeps.stepped(whole, Ok(&Swept::default()), after(began, 61));
        assert_eq!(heard(&sweeps, began, 61), None);
    }

    #[test]
    fn a_sweep_that_stands_still_is_named_also_in_its_first_step() {
        let began = Moment::now();
        let sweeps = Sweeps::new(began);
        sweeps.expect(WHOLE, began);
        for ended in [0, 1_000] {
            sweeps.stepped((WHOLE, 0), Ok(&Swept::default()), after(began, ended));
            assert_eq!(heard(&sweeps, began, ended + 299), None);
            let still = Some("no step has ended for 5m".to_owned());
            assert_eq!(heard(&sweeps, began, ended + 300), still);
        }
        let sweeps = Sweeps::new(began);
        sweeps.expect(WHOLE, began);
        assert_eq!(heard(&sweeps, began, 299), None);
        assert!(heard(&sweeps, began, 300).is_some());
    }

    #[test]
    fn a_part_that_fails_or_stands_still_is_named_though_another_is_well() {
        let began = Moment::now();
        let (sweeps, away) = (Sweeps::new(began), Error::new(Kind::Unavailable, "x"));
        for _ in 0..3 {
            sweeps.stepped(("outcomes", 0), Err(&away), began);
            sweeps.stepped(("claims", 0), Ok(&Swept::default()), began);
        }
        let failed = "outcomes: the last 3 steps failed: unavailable".to_owned();
        assert_eq!(heard(&sweeps, began, 0), Some(failed));
        sweeps.stepped(("outcomes", 0), Ok(&Swept::default()), after(began, 400));
        let still = "claims: no step has ended for 6m 40s".to_owned();
        assert_eq!(heard(&sweeps, began, 400), Some(still));
    }

    #[test]
    fn a_service_is_not_reached_once_several_connections_failed() {
        assert!(matches!(reached(0), Said::Ready));
        assert!(matches!(reached(1), Said::ReadyBut(_)));
        assert!(matches!(reached(2), Said::NotReady(_)));
    }
}
