//! The targets of an engine, by name, and intents made for them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::policy::Consumer;
use crate::policy::retry::Failure;
use bytes::Bytes;
use semel_core::inbox::work::INTENTS_MAX;
use semel_core::inbox::{Intent, Message, Origin, Plan};
use semel_core::{Headers, Identity, Key};

use super::draft::Draft;
use crate::keys;

/// Tells people which message wanted an intent. It stays with the intent and is not sent.
const CAUSATION: &str = "semel-causation";

/// What handlers may send to.
#[derive(Debug, Default)]
pub(crate) struct Targets(HashMap<Box<str>, Known>);

#[derive(Debug)]
struct Known {
    plan: Arc<Plan>,
    takes_key: bool,
}

impl Targets {
    pub(crate) fn add(&mut self, name: &str, plan: Plan, takes_key: bool) {
        let plan = Arc::new(plan);
        self.0.insert(name.into(), Known { plan, takes_key });
    }

    pub(crate) fn any_takes_key(&self) -> bool {
        self.0.values().any(|known| known.takes_key)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The intent that a handler of `consumer` asks for because of `cause`, beside those it has asked for already.
    pub(crate) fn intent(
        &self,
        consumer: &Consumer,
        cause: &Message,
        draft: Draft,
        others: &[Intent],
    ) -> Result<Intent, Failure> {
        let known = self.target(consumer, &draft)?;
        if others.len() >= INTENTS_MAX {
            return Err(Failure::terminal(format!(
                "a message has at most {INTENTS_MAX} intents, found one more: {:?}",
                draft.name
            )));
        }
        let key = id(consumer, cause, &draft)?;
        let identity = Identity::new(
            cause.identity().tenant().clone(),
            known.plan.consumer.clone(),
            key,
        );
        if others
            .iter()
            .any(|other| other.message.identity() == &identity)
        {
            return Err(Failure::terminal(format!(
                "two intents of one message have the name {:?}",
                draft.name
            )));
        }
        let message = message(identity, cause, draft).map_err(Failure::terminal)?;
        let plan = known.plan.clone();
        Ok(Intent { plan, message })
    }

    fn target(&self, consumer: &Consumer, draft: &Draft) -> Result<&Known, Failure> {
        let known = self.0.get(draft.target.as_str()).ok_or_else(|| {
            Failure::terminal(format!(
                "there is no target named {:?} for intents",
                draft.target
            ))
        })?;
        match consumer.provider_keys_required && !known.takes_key {
            true => Err(Failure::terminal(format!(
                "the policy of {} wants idempotency keys at providers, but target {:?} takes none",
                consumer.name(),
                draft.target
            ))),
            false => Ok(known),
        }
    }
}

fn id(consumer: &Consumer, cause: &Message, draft: &Draft) -> Result<Key, Failure> {
    let text = match &draft.id {
        Some(_) if consumer.derived_intent_ids => {
            return Err(Failure::terminal(format!(
                "the policy of {} derives the ids of intents, but intent {:?} brings its own",
                consumer.name(),
                draft.name
            )));
        }
        Some(id) => id.clone(),
        None => keys::of_intent(cause.identity(), &draft.name),
    };
    Key::new(text).map_err(Failure::terminal)
}

fn message(identity: Identity, cause: &Message, draft: Draft) -> semel_core::Result<Message> {
    let mut headers = draft.headers;
    let causation = Bytes::from(cause.identity().key().as_str().to_owned());
    headers.push((CAUSATION.to_owned(), causation));
    let origin = Origin {
        topic: cause.identity().scope().to_string(),
        ..Origin::default()
    };
    let message = Message::new(identity, draft.payload)?
        .with_kind(&draft.name, None)?
        .with_origin(origin)?
        .with_headers(Headers::new(headers)?);
    Ok(match draft.key {
        Some(key) => message.with_lane(Key::new(key)?),
        None => message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets() -> Targets {
        let mut targets = Targets::default();
        for (name, takes_key) in [("pay", true), ("mail", false)] {
            let scope = format!("intent:{name}@1").parse().unwrap();
            targets.add(name, Plan::new(scope), takes_key);
        }
        targets
    }

    fn cause() -> Message {
        let identity = Identity::parse("acme", "orders@2", "evt-1").unwrap();
        Message::new(identity, "{}").unwrap()
    }

    #[test]
    fn the_id_follows_from_the_message_and_the_name() {
        let consumer = Consumer::new("orders@2".parse().unwrap());
        let draft = Draft::new("pay", "charge", "7");
        let made = targets().intent(&consumer, &cause(), draft, &[]).unwrap();
        let identity = made.message.identity();
        assert_eq!(
            identity.to_string(),
            "acme/intent:pay@1/acme/orders@2:evt-1:charge"
        );
        assert_eq!(made.message.kind(), Some("charge"));
    }

    #[test]
    fn what_the_policy_forbids_is_a_terminal_failure() {
        let mut consumer = Consumer::new("orders@2".parse().unwrap());
        let refused = |consumer: &Consumer, draft: Draft, others: &[Intent]| {
            let made = targets().intent(consumer, &cause(), draft, others);
            made.map(drop).unwrap_err().error.as_str().to_owned()
        };
        let own = Draft::new("pay", "charge", "").id("my-own");
        assert!(refused(&consumer, own.clone(), &[]).contains("brings its own"));
        assert!(refused(&consumer, Draft::new("sms", "x", ""), &[]).contains("no target"));
        consumer.provider_keys_required = true;
        assert!(refused(&consumer, Draft::new("mail", "x", ""), &[]).contains("takes none"));
        consumer.derived_intent_ids = false;
        let first = targets().intent(&consumer, &cause(), own.clone(), &[]);
        let first = first.unwrap();
        assert_eq!(first.message.identity().key().as_str(), "my-own");
        assert!(refused(&consumer, own, &[first]).contains("two intents"));
    }
}
