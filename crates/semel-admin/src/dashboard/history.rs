//! What went through the process in the last hour, in a fixed number of samples. A task of the server takes them whether or not a browser looks,
//! and pages read them: however many browsers look, the store is asked how it stands every few seconds at most.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::inbox::Counts;
use semel_core::store::Stats;
use tokio::time::{Instant, sleep_until};

use super::page::Ask;
use super::scopes::Scopes;
use crate::admin::Parts;
use crate::dashboard::ui::Point;
use crate::metrics::flow::{Message, Messages, Request, Requests, Through};
use crate::pace::good_for;

/// How often a sample is taken.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// How far samples go back.
const KEPT: Duration = Duration::from_secs(3_600);
/// The most samples: an hour of them.
const SAMPLES_MAX: usize = 720;
/// Over how many samples the rates of this moment are taken: half a minute.
const RECENT: usize = 7;
/// How old an answer of the store may be that a page shows once more, unless counting takes it long.
const FRESH_FOR: Duration = Duration::from_secs(2);
/// How long the store may take for a list of what is shown by scope.
pub(super) const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// How old counts may be that a page shows: a page that is opened, as after an act, is of now; when it is shown once more, it shares what is known.
pub(super) fn fresh_for(ask: &Ask) -> Duration {
    match ask.is_update() {
        true => FRESH_FOR,
        false => Duration::ZERO,
    }
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    Requests,
    Duplicates,
    Conflicts,
    Received,
    Completed,
    Repeated,
    Failed,
    Running,
    Unknown,
    Backlog,
    Dead,
}

const LINES: usize = 11;

/// One moment: rates since the moment before, and levels; `None` where the store did not answer.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: Instant,
    lines: [Option<f32>; LINES],
}

/// Cumulative counts at a moment, of which rates are made.
#[derive(Debug)]
struct Mark {
    at: Instant,
    through: Through,
}

/// What went through until a moment, with how long ago that was: what the rates of now are made of.
#[derive(Debug)]
pub(super) struct Before {
    through: Through,
    /// Until the moment at which rates are asked for, not until the last sample.
    seconds: f64,
}

impl Before {
    /// How many per second since then, of a number that only grows.
    pub(super) fn rate(&self, now: u64, of: impl Fn(&Through) -> u64) -> f32 {
        let grown = now.saturating_sub(of(&self.through));
        (grown as f64 / self.seconds) as f32
    }
}

/// What the store said last.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    /// `None` if it did not answer.
    pub(super) stats: Option<Stats>,
    /// Of each consumer; `None` if there is no inbox or it did not answer.
    pub(super) counts: Option<Vec<Counts>>,
    /// What runs and what is unknown, scope by scope; `None` if it did not answer.
    pub(super) scopes: Option<Scopes>,
}

/// What the store said of each scope, when it was asked, and how long that took.
#[derive(Debug)]
struct Listed {
    asked: Instant,
    took: Duration,
    scopes: Option<Scopes>,
}

#[derive(Debug, Default)]
struct Inner {
    samples: VecDeque<Sample>,
    marks: VecDeque<Mark>,
}

/// The last hour.
#[derive(Debug, Default)]
pub(super) struct History {
    /// A std lock, not an async one: it is held to copy numbers, never over an await.
    inner: Mutex<Inner>,
    /// What was listed for viewers last. An async lock, held while the store is asked: viewers who come meanwhile share the answer.
    listed: tokio::sync::Mutex<Option<Listed>>,
}

impl History {
    /// Takes samples for ever.
    pub(super) async fn keep(&self, parts: &Parts) -> std::convert::Infallible {
        loop {
            let began = Instant::now();
            // Half a turn, so that an answer of the turn before is never taken for a new one.
            let standing = ask(parts, EVERY / 2).await;
            let through = parts.store.metrics().through();
            self.take(Instant::now(), through, &standing);
            sleep_until(began + EVERY).await;
        }
    }

    /// How the store stands, as of `least` ago at most unless counting takes it long, with what is shown of each scope.
    pub(super) async fn standing(&self, parts: &Parts, least: Duration) -> Standing {
        let standing = ask(parts, least).await;
        let scopes = match &standing.stats {
            Some(stats) => {
                let list = Scopes::ask(&**parts.store.inner(), stats);
                self.share(list).await
            }
            None => None,
        };
        Standing { scopes, ..standing }
    }

    async fn share(&self, list: impl Future<Output = Option<Scopes>>) -> Option<Scopes> {
        let mut last = self.listed.lock().await;
        if let Some(last) = &*last
            && last.asked.elapsed() < good_for(last.took, FRESH_FOR)
        {
            return last.scopes.clone();
        }
        let asked = Instant::now();
        let scopes = list.await;
        *last = Some(Listed {
            asked,
            took: asked.elapsed(),
            scopes: scopes.clone(),
        });
        scopes
    }

    fn take(&self, at: Instant, through: Through, standing: &Standing) {
        let mut inner = self.lock();
        if let Some(before) = inner.marks.back() {
            let elapsed = at.duration_since(before.at).as_secs_f32();
            let lines = sample(before, &through, elapsed, standing);
            inner.samples.push_back(Sample { at, lines });
        }
        inner.marks.push_back(Mark { at, through });
        let surplus = inner.samples.len().saturating_sub(SAMPLES_MAX);
        inner.samples.drain(..surplus);
        while let Some(first) = inner.samples.front()
            && at.duration_since(first.at) > KEPT
        {
            inner.samples.pop_front();
        }
        let surplus = inner.marks.len().saturating_sub(RECENT);
        inner.marks.drain(..surplus);
    }

    /// The samples of a line, the oldest first, each with how long before the newest it was taken.
    pub(super) fn line(&self, line: Line) -> Vec<Point> {
        let inner = self.lock();
        let newest = inner.samples.back().map(|sample| sample.at);
        let point = |sample: &Sample| Point {
            ago: newest.map_or(Duration::ZERO, |newest| newest.duration_since(sample.at)),
            value: sample.lines[line as usize],
        };
        inner.samples.iter().map(point).collect()
    }

    /// How far the samples go back.
    pub(super) fn length(&self) -> Duration {
        let inner = self.lock();
        match (inner.samples.front(), inner.samples.back()) {
            (Some(first), Some(last)) => last.at.duration_since(first.at),
            _ => Duration::ZERO,
        }
    }

    /// What had gone through half a minute ago, for the rates of `now`; nothing before the second sample.
    pub(super) fn recent(&self, now: Instant) -> Option<Before> {
        let inner = self.lock();
        let first = inner.marks.front().filter(|_| inner.marks.len() > 1)?;
        let seconds = now.duration_since(first.at).as_secs_f64();
        (seconds > 0.0).then(|| Before {
            through: first.through.clone(),
            seconds,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The counts that scrapes and alerts share, too.
async fn ask(parts: &Parts, least: Duration) -> Standing {
    let metrics = parts.store.metrics();
    let counts = async {
        match &parts.inbox {
            Some(part) => metrics.inbox_counts(part, &parts.clock, least).await,
            None => None,
        }
    };
    let stats = metrics.stats(parts.store.inner(), &parts.clock, least);
    let (stats, counts) = tokio::join!(stats, counts);
    Standing {
        stats,
        counts,
        scopes: None,
    }
}

fn sample(
    before: &Mark,
    through: &Through,
    elapsed: f32,
    standing: &Standing,
) -> [Option<f32>; LINES] {
    let (old, new): (Requests, Requests) = (before.through.requests(), through.requests());
    let (was, now): (Messages, Messages) = (before.through.messages(), through.messages());
    let rate = |old: u64, new: u64| match elapsed > 0.0 {
        true => new.saturating_sub(old) as f32 / elapsed,
        false => 0.0,
    };
    let requests = |kind| rate(old.of(kind), new.of(kind));
    let messages = |kind| rate(was.of(kind), now.of(kind));
    let counts = standing.counts.as_deref();
    let all =
        |of: fn(&Counts) -> u64| counts.map(|counts| counts.iter().map(of).sum::<u64>() as f32);
    let stats = standing.stats.as_ref();
    let mut sample = [None; LINES];
    let rates = [
        (Line::Requests, requests(Request::All)),
        (Line::Duplicates, rate(old.duplicates(), new.duplicates())),
        (Line::Conflicts, requests(Request::Conflict)),
        (Line::Received, messages(Message::Received)),
        (Line::Completed, messages(Message::Completed)),
        (Line::Repeated, messages(Message::Duplicate)),
        (Line::Failed, messages(Message::Failed)),
    ];
    for (line, rate) in rates {
        sample[line as usize] = Some(rate);
    }
    for (line, level) in [
        (Line::Running, stats.map(|stats| stats.running as f32)),
        (Line::Unknown, stats.map(|stats| stats.unknown as f32)),
        (Line::Backlog, all(Counts::pending)),
        (Line::Dead, all(Counts::dead)),
    ] {
        sample[line as usize] = level;
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;
    use semel_http::{Event, RequestObserver, What};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn saw(metrics: &Metrics, what: What) {
        metrics.saw(&Event {
            scope: &"payments".parse().unwrap(),
            identity: None,
            what,
            status: 200,
            took: Duration::ZERO,
        });
    }

    #[tokio::test(start_paused = true)]
    async fn samples_are_rates_and_an_hour_of_them_is_kept() {
        let (history, metrics) = (History::default(), Metrics::new());
        let mut at = Instant::now();
        let mut take = |metrics: &Metrics| {
            history.take(at, metrics.through(), &Standing::default());
            at += EVERY;
        };
        take(&metrics);
        let now = Instant::now() + EVERY;
        assert!(history.recent(now).is_none(), "one sample is no rate");
        for _ in 0..10 {
            saw(&metrics, What::Replayed);
        }
        take(&metrics);
        assert_eq!(values(&history, Line::Requests), [Some(2.0)]);
        assert_eq!(values(&history, Line::Duplicates), [Some(2.0)]);
        for _ in 0..SAMPLES_MAX {
            take(&metrics);
        }
        let kept = values(&history, Line::Requests);
        assert_eq!(kept, vec![Some(0.0); SAMPLES_MAX]);
        assert_eq!(history.lock().marks.len(), RECENT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_is_that_until_the_moment_it_is_asked_for() {
        let (history, metrics, begin) = (History::default(), Metrics::new(), Instant::now());
        let after = |seconds| begin + Duration::from_secs(seconds);
        for seconds in [0, 5] {
            history.take(after(seconds), metrics.through(), &Standing::default());
        }
        for _ in 0..9 {
            saw(&metrics, What::Replayed);
        }
        let all = |through: &Through| through.requests().of(Request::All);
        let before = history.recent(after(9)).unwrap();
        assert_eq!(before.rate(all(&metrics.through()), all), 1.0);
    }

    fn values(history: &History, line: Line) -> Vec<Option<f32>> {
        let points = history.line(line).into_iter();
        points.map(|point| point.value).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_away_leaves_a_gap_and_not_a_zero() {
        let (history, metrics, begin) = (History::default(), Metrics::new(), Instant::now());
        let away = Standing::default();
        let there = Standing {
            stats: Some(Stats {
                running: 3,
                ..Stats::default()
            }),
            ..Standing::default()
        };
        // While the store is away a sample takes longer.
        for (seconds, standing) in [(0, &there), (5, &there), (14, &away), (19, &there)] {
            let at = begin + Duration::from_secs(seconds);
            history.take(at, metrics.through(), standing);
        }
        let line = history.line(Line::Running);
        let point = |seconds, value| Point {
            ago: Duration::from_secs(seconds),
            value,
        };
        assert_eq!(
            line,
            [point(14, Some(3.0)), point(5, None), point(0, Some(3.0))]
        );
        assert_eq!(values(&history, Line::Backlog), [None; 3]);
        assert_eq!(history.length(), Duration::from_secs(14));
        let later = begin + KEPT + Duration::from_secs(15);
        history.take(later, metrics.through(), &there);
        assert_eq!(history.line(Line::Running).len(), 2, "an hour is kept");
    }

    #[tokio::test(start_paused = true)]
    async fn viewers_who_come_together_ask_the_store_once() {
        let (history, asked) = (History::default(), AtomicUsize::new(0));
        let ask = async || {
            asked.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
            Some(Scopes::default())
        };
        tokio::join!(
            history.share(ask()),
            history.share(ask()),
            history.share(ask())
        );
        assert_eq!(asked.load(Ordering::Relaxed), 1);
    }
}
