//! What all processes of a run agree on: which consumers and which messages there are.

use std::time::Duration;

use semel_core::inbox::{Message, OnTerminal, Order, Plan};
use semel_core::{Identity, Key, LeaseTerm, Scope, Tenant};

use crate::killing::Scene;

/// Short, so that a test need not wait long for what a killed worker left.
const LEASE: Duration = Duration::from_millis(150);
/// How many lanes share the messages that have one.
const LANES: usize = 3;

/// What a worker is started for.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) scene: Scene,
}

/// How a message is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its source is told when it is stored.
    Plain,
    /// The same, and its first attempt fails.
    Retry,
    /// Its source is told when its effect is applied.
    Late,
}

impl Job {
    /// The consumer whose messages are processed: in order of arrival, for those that have a lane.
    pub(super) fn orders(&self) -> Plan {
        let mut plan = Plan::new(self.consumer("orders"));
        let on_terminal = OnTerminal::Park;
        plan.order = Order::Arrival { on_terminal };
        plan
    }

    /// The consumer that sends what the handler wants sent.
    pub(super) fn mails(&self) -> Plan {
        Plan::new(self.consumer("intent:mails"))
    }

    fn consumer(&self, name: &str) -> Scope {
        let name = format!("{name}-{}", self.scene.name());
        Scope::new(name, 1).expect("names of consumers are short")
    }

    /// The identity of a message of a consumer.
    pub(super) fn identity(plan: &Plan, id: &str) -> Identity {
        let key = Key::new(id).expect("ids of messages are valid keys");
        Identity::new(Tenant::public(), plan.consumer.clone(), key)
    }

    /// The message with this id, as its source delivers it every time.
    pub(super) fn message(&self, id: &str) -> Message {
        let message = Message::new(Self::identity(&self.orders(), id), payload_of(id));
        let message = message.expect("a small payload");
        match lane_of(id) {
            Some(lane) => message.with_lane(lane),
            None => message,
        }
    }

    /// The intent of one run of a message. Its id names the claim, so that two runs that both
    /// counted could not hide behind one id.
    pub(super) fn mail(&self, id: &str, fence: u64) -> Message {
        let identity = Self::identity(&self.mails(), &format!("{id}~{fence}"));
        Message::new(identity, id.to_owned()).expect("a small payload")
    }
}

/// What a message says.
pub(super) fn payload_of(id: &str) -> String {
    format!("payload of {id}")
}

/// The name of the `number`-th message.
pub(super) fn id_of(number: usize, kind: Kind, in_lane: bool) -> String {
    let kind = match kind {
        Kind::Plain => "plain",
        Kind::Retry => "retry",
        Kind::Late => "late",
    };
    let lane = if in_lane { number % LANES } else { LANES };
    format!("m-{number}-{lane}-{kind}")
}

/// How the message with this id is handled.
pub(super) fn kind_of(id: &str) -> Kind {
    match id.rsplit_once('-') {
        Some((_, "retry")) => Kind::Retry,
        Some((_, "late")) => Kind::Late,
        _ => Kind::Plain,
    }
}

fn lane_of(id: &str) -> Option<Key> {
    let lane = id.split('-').nth(2).expect("ids name their lane");
    let lane = lane.parse().ok().filter(|lane: &usize| *lane < LANES)?;
    Some(Key::new(format!("lane-{lane}")).expect("a valid key"))
}

/// How long a claim lasts.
pub(super) fn lease() -> LeaseTerm {
    LeaseTerm::new(LEASE).expect("a valid term")
}
