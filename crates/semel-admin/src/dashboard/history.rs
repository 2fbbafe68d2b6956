//! What went through the process in the last hour, in a fixed number of samples. A task of the server takes them whether or not a browser looks,
//! and pages read them: however many browsers look, the store is asked how it stands every few seconds at most.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::inbox::Counts;
use semel_core::store::Stats;
use tokio::time::{Instant, sleep, timeout};

use crate::admin::Parts;
use crate::metrics::flow::{Message, Messages, Request, Requests, Through};
use crate::pace::good_for;

/// How often a sample is taken.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// Samples of an hour.
pub(super) const SAMPLES_MAX: usize = 720;
/// Over how many samples the rates of this moment are taken: half a minute.
const RECENT: usize = 7;
/// How old an answer of the store may be that a page shows, unless counting takes it long.
const FRESH_FOR: Duration = Duration::from_secs(2);
/// How long the store may take for its counts.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

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
    Parked,
}

const LINES: usize = 11;

/// One moment: rates since the moment before, and levels.
#[derive(Debug, Clone, Copy)]
struct Sample([f32; LINES]);

/// Cumulative counts at a moment, of which rates are made.
#[derive(Debug)]
struct Mark {
    at: Instant,
    through: Through,
}

/// What the store said last.
#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    /// `None` if it did not answer.
    pub(super) stats: Option<Stats>,
    /// Of each consumer; `None` if there is no inbox or it did not answer.
    pub(super) counts: Option<Vec<Counts>>,
}

/// What the store said, when it was asked, and how long that took.
#[derive(Debug, Clone)]
struct Answered {
    asked: Instant,
    took: Duration,
    standing: Standing,
}

impl Answered {
    /// The last answer, if it is good for at least so long still; a new one otherwise.
    async fn fresh(last: Option<Self>, parts: &Parts, least: Duration) -> Self {
        if let Some(last) = last
            && last.asked.elapsed() < good_for(last.took, least)
        {
            return last;
        }
        let asked = Instant::now();
        let standing = ask(parts).await;
        let took = asked.elapsed();
        Self {
            asked,
            took,
            standing,
        }
    }
}

#[derive(Debug, Default)]
struct Inner {
    samples: VecDeque<Sample>,
    marks: VecDeque<Mark>,
    standing: Option<Answered>,
}

/// The last hour. A std lock, not an async one: it is held to copy numbers, never over an await.
#[derive(Debug, Default)]
pub(super) struct History(Mutex<Inner>);

impl History {
    /// Takes samples for ever. What it was answered is not shown to viewers, who ask for themselves.
    pub(super) async fn keep(&self, parts: &Parts) -> std::convert::Infallible {
        let mut last = None;
        loop {
            let answered = Answered::fresh(last, parts, EVERY).await;
            let through = parts.store.metrics().through();
            self.take(Instant::now(), through, &answered.standing);
            last = Some(answered);
            sleep(EVERY).await;
        }
    }

    /// How the store stands, asked now unless it was asked just now, or takes so long that it is left alone for a while.
    pub(super) async fn standing(&self, parts: &Parts) -> Standing {
        let last = self.lock().standing.clone();
        let answered = Answered::fresh(last, parts, FRESH_FOR).await;
        let standing = answered.standing.clone();
        self.lock().standing = Some(answered);
        standing
    }

    fn take(&self, at: Instant, through: Through, standing: &Standing) {
        let mut inner = self.lock();
        if let Some(before) = inner.marks.back() {
            let elapsed = at.duration_since(before.at).as_secs_f32();
            let sample = sample(before, &through, elapsed, standing);
            inner.samples.push_back(sample);
        }
        inner.marks.push_back(Mark { at, through });
        let surplus = inner.samples.len().saturating_sub(SAMPLES_MAX);
        inner.samples.drain(..surplus);
        let surplus = inner.marks.len().saturating_sub(RECENT);
        inner.marks.drain(..surplus);
    }

    /// The samples of a line, the oldest first.
    pub(super) fn line(&self, line: Line) -> Vec<f32> {
        let inner = self.lock();
        inner
            .samples
            .iter()
            .map(|sample| sample.0[line as usize])
            .collect()
    }

    /// How many samples there are.
    pub(super) fn len(&self) -> usize {
        self.lock().samples.len()
    }

    /// What went through in the last half minute, and how long that is in seconds; nothing before the second sample.
    pub(super) fn recent(&self) -> Option<(Through, f64)> {
        let inner = self.lock();
        let (first, last) = (inner.marks.front()?, inner.marks.back()?);
        let elapsed = last.at.duration_since(first.at).as_secs_f64();
        (elapsed > 0.0).then(|| (first.through.clone(), elapsed))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn ask(parts: &Parts) -> Standing {
    let stats = timeout(STORE_TIMEOUT, parts.store.inner().stats()).await;
    let counts = match &parts.inbox {
        Some(part) => timeout(STORE_TIMEOUT, part.inbox.counts()).await.ok(),
        None => None,
    };
    // A store that does not answer is logged where it is probed.
    Standing {
        stats: stats.ok().and_then(Result::ok),
        counts: counts.and_then(Result::ok),
    }
}

fn sample(before: &Mark, through: &Through, elapsed: f32, standing: &Standing) -> Sample {
    let (old, new): (Requests, Requests) = (before.through.requests(), through.requests());
    let (was, now): (Messages, Messages) = (before.through.messages(), through.messages());
    let rate = |old: u64, new: u64| match elapsed > 0.0 {
        true => new.saturating_sub(old) as f32 / elapsed,
        false => 0.0,
    };
    let requests = |kind| rate(old.of(kind), new.of(kind));
    let messages = |kind| rate(was.of(kind), now.of(kind));
    let counts = standing.counts.as_deref().unwrap_or_default();
    let all = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>() as f32;
    let stats = standing.stats.as_ref();
    let mut sample = [0.0; LINES];
    for (line, value) in [
        (Line::Requests, requests(Request::All)),
        (Line::Duplicates, rate(old.duplicates(), new.duplicates())),
        (Line::Conflicts, requests(Request::Conflict)),
        (Line::Received, messages(Message::Received)),
        (Line::Completed, messages(Message::Completed)),
        (Line::Repeated, messages(Message::Duplicate)),
        (Line::Failed, messages(Message::Failed)),
        (
            Line::Running,
            stats.map_or(0.0, |stats| stats.running as f32),
        ),
        (
            Line::Unknown,
            stats.map_or(0.0, |stats| stats.unknown as f32),
        ),
        (Line::Backlog, all(Counts::pending)),
        (Line::Parked, all(|counts| counts.parked)),
    ] {
        sample[line as usize] = value;
    }
    Sample(sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;
    use semel_http::{Event, RequestObserver, What};

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
        assert!(history.recent().is_none(), "one sample is no rate");
        for _ in 0..10 {
            saw(&metrics, What::Replayed);
        }
        take(&metrics);
        assert_eq!(history.line(Line::Requests), [2.0]);
        assert_eq!(history.line(Line::Duplicates), [2.0]);
        let (first, seconds) = history.recent().unwrap();
        assert_eq!((first.requests().of(Request::All), seconds), (0, 5.0));
        for _ in 0..SAMPLES_MAX {
            take(&metrics);
        }
        assert_eq!(history.line(Line::Requests), vec![0.0; SAMPLES_MAX]);
        assert_eq!(history.lock().marks.len(), RECENT);
    }
}
