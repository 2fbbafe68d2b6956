//! What a broker says about itself.

use std::time::Duration;

/// How long a broker keeps messages that could be delivered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retained {
    /// For this long.
    For(Duration),
    /// For ever, or as long as there is room: no retention of ids is as long.
    Forever,
    /// Until it is acknowledged; nothing is delivered again afterwards.
    UntilAcked,
}

/// How often a broker delivers a message that is not acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryLimit {
    /// So many times.
    pub count: u32,
    /// Where it goes then; nothing if it is dropped.
    pub dead_letters: Option<String>,
}

/// What a broker says about itself. What is not known is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// How long messages can be delivered again.
    pub retained: Option<Retained>,
    /// How many messages wait at the broker for this reader's group.
    pub lag: Option<u64>,
    /// How many messages readers of the group hold without having acknowledged them, dead readers among them; not counted in `lag`.
    pub held: Option<u64>,
    /// How often a message is delivered at most.
    pub delivery_limit: Option<DeliveryLimit>,
    /// What an operator should know: compaction, trimming, limits. Each is one sentence.
    pub warnings: Vec<String>,
}

impl Facts {
    /// What an operator should know whose consumer remembers ids for `keep`: the warnings, and what follows from how long messages are kept.
    pub fn advice(&self, keep: Duration) -> Vec<String> {
        let mut all = self.warnings.clone();
        if self.retained == Some(Retained::Forever) {
            all.push(format!(
                "the broker keeps messages for ever, but ids are remembered for {}: whatever is read again after that, by a new group or a group \
                 that is set back, runs again",
                shown(keep)
            ));
        }
        all
    }

    /// Why a consumer that remembers ids for `keep` and acknowledges after the effect, or not, cannot be right with such a broker.
    pub fn refusal(&self, keep: Duration, after_effect: bool) -> Option<String> {
        match (&self.retained, &self.delivery_limit) {
            (Some(Retained::For(kept)), _) if *kept > keep => Some(format!(
                "the broker keeps messages for {}, but ids are remembered for {}: a message that is delivered again after that would run \
                 twice; the consumer's retention must not be shorter",
                shown(*kept),
                shown(keep)
            )),
            (
                _,
                Some(DeliveryLimit {
                    count,
                    dead_letters: None,
                }),
            ) if after_effect => Some(format!(
                "the broker drops a message after {count} deliveries, which a consumer that acknowledges after the effect cannot prevent: \
                 raise the limit, name a dead letter queue, or acknowledge after the receive"
            )),
            _ => None,
        }
    }
}

fn shown(time: Duration) -> String {
    semel_core::duration::show(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn limited(dead_letters: Option<&str>) -> Facts {
        Facts {
            delivery_limit: Some(DeliveryLimit {
                count: 5,
                dead_letters: dead_letters.map(str::to_owned),
            }),
            ..Facts::default()
        }
    }

    #[test]
    fn a_broker_that_keeps_longer_than_ids_are_remembered_is_refused() {
        let kept = |retained| Facts {
            retained: Some(retained),
            ..Facts::default()
        };
        let why = kept(Retained::For(DAY * 7)).refusal(DAY, false);
        assert!(why.is_some_and(|why| why.contains("7d") && why.contains("1d")));
        assert_eq!(kept(Retained::For(DAY)).refusal(DAY, false), None);
        assert_eq!(kept(Retained::UntilAcked).refusal(DAY, false), None);
        assert_eq!(kept(Retained::Forever).refusal(DAY, true), None);
    }

    #[test]
    fn a_broker_that_keeps_for_ever_is_warned_about() {
        let mut facts = Facts {
            warnings: vec!["it is compacted".to_owned()],
            ..Facts::default()
        };
        assert_eq!(facts.advice(DAY).len(), 1);
        facts.retained = Some(Retained::Forever);
        let advice = facts.advice(DAY);
        assert_eq!(advice.len(), 2);
        assert!(advice[1].contains("1d"), "{advice:?}");
    }

    #[test]
    fn a_limit_that_drops_is_refused_where_deliveries_wait_for_the_effect() {
        assert!(limited(None).refusal(DAY, true).is_some());
        assert_eq!(limited(None).refusal(DAY, false), None);
        assert_eq!(limited(Some("dlq")).refusal(DAY, true), None);
    }
}
