//! How the store and its inbox stand: counts that are asked for once for all who look, and as rarely as counting takes long.
//!
//! Scrapes, alerts and pages share an answer. A question goes on when the caller that began it waits no longer: a store that counts slowly is not
//! asked again and again in vain, and until it has answered, its last counts are what there is. That they are old says nothing about whether the
//! store is away, which is what readiness asks.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::inbox;
use semel_core::store::{Stats, Store};
use semel_core::{Clock, Error, Kind, Result, Timestamp};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::Metrics;
use crate::inbox::InboxPart;
use crate::pace::good_for;

/// How long counting may take. No caller waits for so long: that is [`PATIENCE`].
const COUNT_MAX: Duration = Duration::from_secs(60);
/// Counting that takes less is done again for each caller that takes nothing old.
const QUICK: Duration = Duration::from_secs(1);
/// How long a caller waits for counts; after that the old ones have to do.
const PATIENCE: Duration = Duration::from_secs(2);

/// The last answer to a question that takes long.
#[derive(Debug)]
struct Shared<T>(Arc<watch::Sender<State<T>>>);

#[derive(Debug)]
struct State<T> {
    /// The last answer, and when it was asked for.
    last: Option<(Arc<T>, Instant)>,
    /// When the last question was asked, answered or not, and how long that took.
    asked: Option<(Instant, Duration)>,
    is_asking: bool,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        let none = State {
            last: None,
            asked: None,
            is_asking: false,
        };
        Self(Arc::new(watch::Sender::new(none)))
    }
}

impl<T: Send + Sync + 'static> Shared<T> {
    /// The last answer, after a new one was waited for if it was not good for so long any more; nothing if there is none yet. For a caller that
    /// takes nothing old (zero), a question under way does not do: it may have been answered by what was before.
    async fn fresh(
        &self,
        what: &'static str,
        least: Duration,
        ask: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Option<Arc<T>> {
        if least.is_zero() && !self.settled().await {
            return self.last();
        }
        if let Some(question) = self.begin(least) {
            tokio::spawn(async move {
                let late = |_| Error::new(Kind::Unavailable, format!("no counts in {COUNT_MAX:?}"));
                let answer = timeout(COUNT_MAX, ask).await.map_err(late);
                let answer = answer.and_then(|answer| answer);
                if let Err(error) = &answer {
                    tracing::warn!(target: "semel::admin", error = %error, "{what} did not say how it stands");
                }
                question.answered(answer.ok());
            });
        }
        self.settled().await;
        self.last()
    }

    /// Waits until no question is under way, but not for ever; whether that is so.
    async fn settled(&self) -> bool {
        let mut state = self.0.subscribe();
        let settled = state.wait_for(|state| !state.is_asking);
        timeout(PATIENCE, settled).await.is_ok()
    }

    fn last(&self) -> Option<Arc<T>> {
        let last = &self.0.borrow().last;
        last.as_ref().map(|(answer, _)| answer.clone())
    }

    /// The right to ask, for one caller at a time and not before the last answer has served its time.
    fn begin(&self, least: Duration) -> Option<Question<T>> {
        let begins = self.0.send_if_modified(|state| {
            let is_due = state.asked.is_none_or(|(asked, took)| {
                let is_quick = least.is_zero() && took < QUICK;
                is_quick || asked.elapsed() >= good_for(took, least)
            });
            let begins = is_due && !state.is_asking;
            state.is_asking |= begins;
            begins
        });
        begins.then(|| Question {
            place: self.0.clone(),
            asked: Instant::now(),
        })
    }

    /// Whether the last question that has ended was answered. If not, the last answer may be of long ago.
    fn is_answered(&self) -> bool {
        let state = self.0.borrow();
        let ended = state.asked.map(|(asked, _)| asked);
        state
            .last
            .as_ref()
            .is_some_and(|(_, at)| Some(*at) >= ended)
    }

    /// How old the last answer is; zero if there is none.
    fn age(&self) -> Duration {
        let last = &self.0.borrow().last;
        last.as_ref().map_or(Duration::ZERO, |(_, at)| at.elapsed())
    }
}

/// A question under way. However it ends, another one may be asked then.
struct Question<T> {
    place: Arc<watch::Sender<State<T>>>,
    asked: Instant,
}

impl<T> Question<T> {
    fn answered(self, answer: Option<T>) {
        let Some(answer) = answer else {
            return;
        };
        self.place
            .send_modify(|state| state.last = Some((Arc::new(answer), self.asked)));
    }
}

impl<T> Drop for Question<T> {
    fn drop(&mut self) {
        self.place.send_modify(|state| {
            state.asked = Some((self.asked, self.asked.elapsed()));
            state.is_asking = false;
        });
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Of {
    of: &'static str,
}

/// What is known of the store and of its inbox, each with the moment by the store's clock when it was so.
#[derive(Debug)]
pub(super) struct Counts {
    store: Shared<(Stats, Timestamp)>,
    inbox: Shared<(Vec<inbox::Counts>, Timestamp)>,
    ages: Family<Of, Gauge<f64, std::sync::atomic::AtomicU64>>,
}

impl Counts {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let counts = Self {
            store: Shared::default(),
            inbox: Shared::default(),
            ages: Family::default(),
        };
        registry.register(
            "semel_counts_age_seconds",
            "How long ago the store and its inbox were asked for the counts that are shown, which are kept while a new count takes long; 0 before the first",
            counts.ages.clone(),
        );
        counts.refresh();
        counts
    }

    pub(super) fn refresh(&self) {
        for (of, age) in [("store", self.store.age()), ("inbox", self.inbox.age())] {
            let gauge = self.ages.get_or_create(&Of { of });
            gauge.set(age.as_secs_f64());
        }
    }
}

impl Metrics {
    /// How the store stands, as of `least` ago at most (zero: as of now) unless counting takes long; nothing if it did not answer the last question.
    /// Shows what it said last, too.
    pub(crate) async fn stats(
        &self,
        store: &Arc<dyn Store>,
        clock: &Arc<dyn Clock>,
        least: Duration,
    ) -> Option<Stats> {
        let (store, clock) = (store.clone(), clock.clone());
        let ask = async move { Ok((store.stats().await?, clock.now())) };
        let counted = self.counts.store.fresh("the store", least, ask).await?;
        let (stats, at) = &*counted;
        self.gauges.set(stats, *at);
        self.counts.store.is_answered().then_some(*stats)
    }

    /// The same of the inbox, by consumer.
    pub(crate) async fn inbox_counts(
        &self,
        part: &InboxPart,
        clock: &Arc<dyn Clock>,
        least: Duration,
    ) -> Option<Vec<inbox::Counts>> {
        let (inbox, clock) = (part.inbox.clone(), clock.clone());
        let ask = async move { Ok((inbox.counts().await?, clock.now())) };
        let counted = self.counts.inbox.fresh("the inbox", least, ask).await?;
        let (counts, at) = &*counted;
        self.inbox.set(counts, *at);
        self.judge_unserved(counts, &part.policies.get());
        self.counts.inbox.is_answered().then(|| counts.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::time::{advance, sleep};

    use super::*;

    const LEAST: Duration = Duration::from_secs(5);

    /// Counts how often it was asked, and answers with that after so long.
    #[derive(Default)]
    struct Slow {
        asked: Arc<AtomicU32>,
        last: Shared<u32>,
    }

    impl Slow {
        async fn ask(&self, seconds: u64) -> Option<u32> {
            self.ask_within(LEAST, seconds).await
        }

        async fn ask_within(&self, least: Duration, seconds: u64) -> Option<u32> {
            let asked = self.asked.clone();
            let ask = async move {
                let asked = asked.fetch_add(1, Ordering::SeqCst) + 1;
                sleep(Duration::from_secs(seconds)).await;
                match asked {
                    13 => Err(Error::new(Kind::Unavailable, "away")),
                    asked => Ok(asked),
                }
            };
            let answer = self.last.fresh("a test", least, ask).await;
            answer.map(|answer| *answer)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_count_is_asked_once_and_comes_when_it_comes() {
        let slow = Slow::default();
        let (one, other) = tokio::join!(slow.ask(7), slow.ask(7));
        assert_eq!((one, other), (None, None), "neither waits for so long");
        sleep(Duration::from_secs(5)).await;
        assert_eq!(slow.ask(7).await, Some(1));
        // It took seven seconds, so it is good for 140.
        advance(Duration::from_secs(130)).await;
        assert_eq!(slow.ask(0).await, Some(1));
        advance(Duration::from_secs(10)).await;
        assert_eq!(slow.ask(0).await, Some(2));
        assert_eq!(slow.asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_count_that_fails_leaves_the_last_one_and_its_age() {
        let slow = Slow::default();
        slow.asked.store(11, Ordering::SeqCst);
        assert_eq!(slow.ask(0).await, Some(12));
        advance(LEAST).await;
        assert!(slow.last.is_answered());
        assert_eq!(slow.ask(0).await, Some(12), "the 13th fails");
        assert_eq!(slow.last.age(), LEAST);
        assert!(!slow.last.is_answered());
        advance(LEAST).await;
        assert_eq!(slow.ask(0).await, Some(14));
        assert_eq!(slow.last.age(), Duration::ZERO);
        assert!(slow.last.is_answered());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_as_of_now_is_counted_anew_unless_that_takes_long() {
        let slow = Slow::default();
        let now = |seconds| slow.ask_within(Duration::ZERO, seconds);
        assert_eq!(now(0).await, Some(1));
        assert_eq!(now(0).await, Some(2));
        assert_eq!(slow.ask(0).await, Some(2), "others share it");
        // One that is under way may be of before: it is waited for, and a new one asked.
        advance(LEAST).await;
        let (_, asked_now) = tokio::join!(slow.ask(0), now(1));
        assert_eq!(asked_now, Some(4));
        // It took a second, so it is good for 20.
        assert_eq!(now(0).await, Some(4));
        advance(Duration::from_secs(20)).await;
        assert_eq!(now(0).await, Some(5));
    }
}
