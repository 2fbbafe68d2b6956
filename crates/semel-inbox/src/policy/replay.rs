//! Whether messages that were dealt with may run again, and what of them may.

use semel_core::{Error, Result};

/// A consumer's policy for replays of messages that were dealt with.
///
/// Replaying from the dead letters is something else: such a message was never dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replay {
    /// Whether an operator may replay without force.
    pub allowed: bool,
    /// What becomes of the intents of a replayed message.
    pub side_effects: SideEffects,
    /// Whether a replay rebuilds: versions that were applied are applied again.
    pub rebuild: bool,
}

/// What becomes of the intents of a replayed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SideEffects {
    /// They are suppressed and counted.
    #[default]
    Suppress,
    /// There are none by design; if a handler makes one all the same, it is suppressed and counted.
    None,
    /// They are stored like any; those that were sent are duplicates of themselves.
    Allow,
}

impl Replay {
    /// Whether a replay may begin. `forced` is the reason that an operator gives for overriding the policy.
    pub fn check(self, consumer: &str, forced: Option<&str>) -> Result<()> {
        match (self.allowed, forced.map(str::trim)) {
            (true, _) => Ok(()),
            (false, Some(reason)) if !reason.is_empty() => Ok(()),
            (false, Some(_)) => Err(Error::invalid(
                "a forced replay needs a reason, found an empty one",
            )),
            (false, None) => Err(Error::invalid(format!(
                "the policy of consumer {consumer} does not allow replays, because its effects reach others; \
                 to replay all the same, force it and give a reason"
            ))),
        }
    }

    /// Whether the intents of a message are suppressed.
    pub fn suppresses(self, is_replay: bool) -> bool {
        is_replay && self.side_effects != SideEffects::Allow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_effect_consumer_is_replayed_only_by_force_and_with_a_reason() {
        let replay = Replay::default();
        assert!(replay.check("mailer", None).is_err());
        assert!(replay.check("mailer", Some("  ")).is_err());
        assert!(replay.check("mailer", Some("INC-7")).is_ok());
        let allowed = Replay {
            allowed: true,
            ..replay
        };
        assert!(allowed.check("indexer", None).is_ok());
    }

    #[test]
    fn only_replays_are_suppressed() {
        let replay = Replay::default();
        assert!(replay.suppresses(true));
        assert!(!replay.suppresses(false));
        let allow = Replay {
            side_effects: SideEffects::Allow,
            ..replay
        };
        assert!(!allow.suppresses(true));
    }
}
