//! What is modelled: how many workers, which policy, which provider, and how far time and trouble go.

use semel_core::OnUnknown;

/// One model to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How many workers want to run the same operation.
    pub workers: usize,
    /// What they do about an unknown outcome.
    pub policy: OnUnknown,
    /// Who performs the effect.
    pub provider: Provider,
    /// The mistake that is built in, if any.
    pub bug: Bug,
    /// How far the exploration goes.
    pub bounds: Bounds,
}

impl Config {
    /// Two workers, the shipped protocol, and the default bounds.
    pub fn new(policy: OnUnknown, provider: Provider) -> Self {
        Self {
            workers: 2,
            policy,
            provider,
            bug: Bug::None,
            bounds: Bounds::default(),
        }
    }

    /// The same model with this mistake built in.
    #[must_use]
    pub fn with_bug(self, bug: Bug) -> Self {
        Self { bug, ..self }
    }

    /// Whether policy and provider together promise at most one effect.
    pub fn promises_one_effect(&self) -> bool {
        match self.policy {
            OnUnknown::Hold => true,
            OnUnknown::Rerun => self.provider == Provider::Keyed,
            OnUnknown::Reconcile => self.provider != Provider::Answering,
        }
    }

    /// Whether anybody can ever take over from a claim whose outcome is unknown.
    pub fn has_takeovers(&self) -> bool {
        match self.policy {
            OnUnknown::Hold => false,
            OnUnknown::Rerun => true,
            OnUnknown::Reconcile => self.provider.can_be_asked(),
        }
    }
}

/// The limits of an exploration; everything within them is visited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// How often the clock may tick. A lease lasts two ticks.
    pub ticks_max: u8,
    /// How many claims may be granted.
    pub claims_max: usize,
    /// How many owners may die and come back knowing nothing.
    pub crashes_max: u8,
}

impl Default for Bounds {
    /// Enough for two takeovers, one of them from an owner that died.
    fn default() -> Self {
        Self {
            ticks_max: 5,
            claims_max: 3,
            crashes_max: 1,
        }
    }
}

/// Who performs the effect, and how far it helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Performs whatever arrives.
    Plain,
    /// Refuses a fence below the highest that it has seen.
    Fenced,
    /// Checks the fence as well, and performs one effect per identity however often it is asked to.
    Keyed,
    /// Performs whatever arrives, and tells whether the effect has happened so far.
    Answering,
    /// Tells whether the effect of a claim happened, and if it did not, refuses that claim and older
    /// ones from then on: its "no" is final.
    Closing,
}

impl Provider {
    /// Whether it refuses a fence below the highest that it has seen.
    pub const fn checks_fence(self) -> bool {
        match self {
            Self::Fenced | Self::Keyed => true,
            Self::Plain | Self::Answering | Self::Closing => false,
        }
    }

    /// Whether it can be asked if the effect happened.
    pub const fn can_be_asked(self) -> bool {
        match self {
            Self::Plain | Self::Fenced | Self::Keyed => false,
            Self::Answering | Self::Closing => true,
        }
    }
}

/// A mistake that stores and drivers really make, built in to show that the checker would see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bug {
    /// The shipped protocol.
    None,
    /// Settle does not compare the fence.
    SettleWithoutFence,
    /// Settle compares neither fence nor state: it overwrites whatever there is.
    SettleOverwrites,
    /// An outcome that comes too late is thrown away.
    LateOutcomeDropped,
    /// A claim takes over although the lease is alive.
    TakeoverOfLiveLease,
    /// Release does not compare the fence.
    ReleaseWithoutFence,
    /// The fence is counted in the record and begins anew once the record is gone.
    FenceResetByRelease,
    /// Renew gives an owner back the lease that it has lost.
    RenewOfLostLease,
    /// Resolve does not compare the fence.
    ResolveWithoutFence,
    /// A run begins without a look at whether its lease has ended meanwhile.
    BeginsAfterLeaseEnded,
    /// An outcome is given up when the store fails to take it once.
    GivesUpItsOutcome,
}
