//! The provider of the effect: what is on its way to it, what it did, and what it refuses.

use semel_core::Fence;

use super::config::Provider;

/// What the provider knows, and what has not reached it yet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Ledger {
    /// Effects that were sent and may still land, in the order of their fences.
    pub(super) in_flight: Vec<Fence>,
    /// Effects that arrived, in the order of their arrival.
    pub(super) calls: Vec<Call>,
    /// Claims up to this one were declared not to have happened.
    closed: Option<Fence>,
    /// Whether a run ever began without a live lease.
    pub(super) begun_late: bool,
}

/// An effect that arrived, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Call {
    pub(super) fence: Fence,
    pub(super) reply: Reply,
}

/// What the provider replied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Reply {
    /// The effect took place.
    Done,
    /// It had taken place before and did not again.
    DoneBefore,
    /// The claim is too old; nothing took place.
    Refused,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self {
            in_flight: Vec::new(),
            calls: Vec::new(),
            closed: None,
            begun_late: false,
        }
    }

    /// The effect of a claim sets out.
    pub(super) fn send(&mut self, fence: Fence) {
        self.in_flight.push(fence);
        // The order of sending tells nothing: keeping it would only multiply equal states.
        self.in_flight.sort_unstable();
    }

    /// The effect of a claim arrives.
    pub(super) fn deliver(&mut self, fence: Fence, provider: Provider) {
        self.in_flight.retain(|sent| *sent != fence);
        let reply = self.judge(fence, provider);
        self.calls.push(Call { fence, reply });
    }

    fn judge(&self, fence: Fence, provider: Provider) -> Reply {
        let is_old = self.calls.iter().any(|call| call.fence > fence);
        let is_closed = self.closed.is_some_and(|closed| fence <= closed);
        match provider {
            Provider::Plain | Provider::Answering => Reply::Done,
            Provider::Fenced if is_old => Reply::Refused,
            Provider::Fenced => Reply::Done,
            Provider::Keyed if is_old => Reply::Refused,
            Provider::Keyed if self.has_happened() => Reply::DoneBefore,
            Provider::Keyed => Reply::Done,
            Provider::Closing if is_closed => Reply::Refused,
            Provider::Closing => Reply::Done,
        }
    }

    /// Tells whether the effect happened; a closing provider then lets no claim up to this one change that.
    pub(super) fn ask(&mut self, fence: Fence, provider: Provider) -> bool {
        if provider == Provider::Closing {
            self.closed = self.closed.max(Some(fence));
        }
        self.has_happened()
    }

    /// What the provider replied to a claim, if its effect arrived.
    pub(super) fn reply_to(&self, fence: Fence) -> Option<Reply> {
        let call = self.calls.iter().find(|call| call.fence == fence);
        call.map(|call| call.reply)
    }

    /// The fences of the effects that took place, in that order.
    pub(super) fn effects(&self) -> impl Iterator<Item = Fence> {
        let done = self.calls.iter().filter(|call| call.reply == Reply::Done);
        done.map(|call| call.fence)
    }

    fn has_happened(&self) -> bool {
        self.effects().next().is_some()
    }
}
