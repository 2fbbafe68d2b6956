//! How the sources of this process stand. Looked at when the numbers are asked for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_inbox::source::SourceView;

use super::labels::CONSUMERS_MAX;

type Number = Gauge<u64, AtomicU64>;
type Look = Box<dyn Fn() -> Vec<SourceView> + Send + Sync>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSource {
    consumer: String,
    source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Delivered {
    consumer: String,
    source: String,
    outcome: &'static str,
}

pub(in crate::metrics) struct Sources {
    reading: Family<OfSource, Number>,
    lag: Family<OfSource, Number>,
    open: Family<OfSource, Number>,
    deliveries: Family<Delivered, Counter>,
    watched: Mutex<Option<Look>>,
}

impl Sources {
    pub(in crate::metrics) fn register(registry: &mut Registry) -> Self {
        let sources = Self {
            reading: Family::default(),
            lag: Family::default(),
            open: Family::default(),
            deliveries: Family::default(),
            watched: Mutex::default(),
        };
        registry.register(
            "semel_source_reading",
            "Whether a source is read, or has ended: 0 while it, its broker or the store is away, or its broker is refused",
            sources.reading.clone(),
        );
        registry.register(
            "semel_source_lag",
            "Messages that wait at the broker for this consumer's group, as the broker said last",
            sources.lag.clone(),
        );
        registry.register(
            "semel_source_open",
            "Deliveries that are not acknowledged yet",
            sources.open.clone(),
        );
        registry.register(
            "semel_source_deliveries",
            "Deliveries of a source, and what became of them: delivered, acked, lost before that, unreadable",
            sources.deliveries.clone(),
        );
        sources
    }

    /// Looks at these sources from now on, and at no others.
    pub(in crate::metrics) fn watch(&self, look: Option<Look>) {
        *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = look;
        self.reading.clear();
        self.lag.clear();
        self.open.clear();
        self.deliveries.clear();
    }

    pub(in crate::metrics) fn refresh(&self) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let views = watched.as_ref().map(|look| look()).unwrap_or_default();
        for view in views.into_iter().take(CONSUMERS_MAX) {
            self.set(&view);
        }
    }

    /// How they stand, at most [`CONSUMERS_MAX`] of them.
    pub(in crate::metrics) fn views(&self) -> Vec<SourceView> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let mut views = watched.as_ref().map(|look| look()).unwrap_or_default();
        views.truncate(CONSUMERS_MAX);
        views
    }

    /// How many sources of each consumer are not read.
    pub(in crate::metrics) fn not_read(&self) -> Vec<(String, u64)> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let views = watched.as_ref().map(|look| look()).unwrap_or_default();
        let mut all: Vec<(String, u64)> = Vec::new();
        for view in views.into_iter().take(CONSUMERS_MAX) {
            let (consumer, away) = (view.consumer.to_string(), u64::from(!view.state.is_well()));
            match all.iter_mut().find(|(known, _)| *known == consumer) {
                Some((_, count)) => *count += away,
                None => all.push((consumer, away)),
            }
        }
        all
    }

    fn set(&self, view: &SourceView) {
        let of = OfSource {
            consumer: view.consumer.to_string(),
            source: view.name.clone(),
        };
        let is_well = u64::from(view.state.is_well());
        self.reading.get_or_create(&of).set(is_well);
        self.open.get_or_create(&of).set(view.open);
        if let Some(lag) = view.facts.lag {
            self.lag.get_or_create(&of).set(lag);
        }
        for (outcome, count) in [
            ("delivered", view.delivered),
            ("acked", view.acked),
            ("lost", view.lost),
            ("unreadable", view.unreadable),
        ] {
            let labels = Delivered {
                consumer: of.consumer.clone(),
                source: of.source.clone(),
                outcome,
            };
            let counter = self.deliveries.get_or_create(&labels);
            counter.inner().store(count, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use semel_inbox::source::SourceState;

    use super::*;

    #[test]
    fn a_source_that_has_ended_is_not_missed() {
        let sources = Sources::register(&mut Registry::default());
        let not_read = |state: &SourceState| {
            let mut view = SourceView::new("file", "orders".parse().unwrap());
            view.state = state.clone();
            sources.watch(Some(Box::new(move || vec![view.clone()])));
            sources.not_read()[0].1
        };
        let why = || "why".to_owned();
        for state in [
            SourceState::Reading,
            SourceState::BacklogFull,
            SourceState::Ended,
        ] {
            assert_eq!(not_read(&state), 0, "{state:?}");
        }
        for state in [
            SourceState::Opening,
            SourceState::Away(why()),
            SourceState::StoreAway(why()),
            SourceState::Refused(why()),
        ] {
            assert_eq!(not_read(&state), 1, "{state:?}");
        }
    }
}
