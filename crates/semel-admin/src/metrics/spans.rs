//! What became of spans. Looked at when the numbers are asked for.

use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Became {
    result: &'static str,
}

/// Gives each result with how many spans came to it so far.
type Look = Box<dyn Fn() -> Vec<(&'static str, u64)> + Send + Sync>;

pub(super) struct Spans {
    became: Family<Became, Counter>,
    look: Mutex<Option<Look>>,
}

impl Spans {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let spans = Self {
            became: Family::default(),
            look: Mutex::default(),
        };
        registry.register(
            "semel_spans",
            "Spans of traces by what became of them: exported, or dropped because too many waited (queue-full) or the collector did not take them or nothing exports any more (failed)",
            spans.became.clone(),
        );
        spans
    }

    pub(super) fn watch(&self, look: Look) {
        *self.look.lock().unwrap_or_else(PoisonError::into_inner) = Some(look);
    }

    pub(super) fn refresh(&self) {
        let look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        let results = look.as_ref().map_or_else(Vec::new, |look| look());
        for (result, now) in results {
            let counter = self.became.get_or_create(&Became { result });
            counter.inc_by(now.saturating_sub(counter.get()));
        }
    }
}
