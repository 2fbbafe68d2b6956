//! A record as the checker keeps it: hashable, and of one identity.
//!
//! [`Record`] has no `Hash`, and need not have one for anybody else. The mirror loses nothing:
//! [`Mirror::of`] turns back what it made and insists on getting the same record.

use std::sync::LazyLock;
use std::time::Duration;

use semel_core::outcome::Settled;
use semel_core::record::UnknownCause;
use semel_core::{
    Claim, Fence, Fingerprint, Identity, Outcome, Record, Retention, State, Timestamp, Verdict,
};

static IDENTITY: LazyLock<Identity> = LazyLock::new(|| {
    Identity::parse("tenant", "model@1", "key").expect("three short names are an identity")
});

/// The claim of the model's one identity that has this fence.
pub(super) fn claim_of(fence: Fence) -> Claim {
    let identity = IDENTITY.clone();
    Claim { identity, fence }
}

/// Ten years: longer than any run of the model, so that no record ends within it.
pub(super) fn retention() -> Retention {
    Retention::delete_after(Retention::MAX).expect("the longest retention is allowed")
}

/// A record of the model's one identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Mirror {
    pub(super) fence: Fence,
    pub(super) attempt: u32,
    claimed_at: Timestamp,
    pub(super) state: Mirrored,
}

/// Where the record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Mirrored {
    Running {
        lease_until: Timestamp,
    },
    Unknown {
        since: Timestamp,
        cause: UnknownCause,
    },
    Settled {
        brought: Brought,
        at: Timestamp,
        resolved: bool,
    },
}

/// An outcome: whether it was done, and the claim that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Brought {
    pub(super) verdict: Verdict,
    pub(super) by: Fence,
}

impl Mirror {
    /// The mirror of a record that the model can have.
    pub(super) fn of(record: &Record) -> Self {
        let mirror = Self {
            fence: record.fence,
            attempt: record.attempt,
            claimed_at: record.claimed_at,
            state: Mirrored::of(&record.state),
        };
        assert_eq!(mirror.record(), *record, "the mirror must lose nothing");
        mirror
    }

    /// The record that this is the mirror of.
    pub(super) fn record(&self) -> Record {
        Record {
            identity: IDENTITY.clone(),
            fingerprint: Fingerprint::none(),
            fence: self.fence,
            attempt: self.attempt,
            claimed_at: self.claimed_at,
            state: self.state.state(),
            about: None,
            nonce: None,
        }
    }
}

impl Mirrored {
    fn of(state: &State) -> Self {
        match state {
            State::Running { lease_until } => Self::Running {
                lease_until: *lease_until,
            },
            State::Unknown { since, cause, .. } => Self::Unknown {
                since: *since,
                cause: *cause,
            },
            State::Settled(settled) => Self::Settled {
                brought: Brought::of(&settled.outcome),
                at: settled.at,
                resolved: settled.resolved,
            },
        }
    }

    fn state(self) -> State {
        match self {
            Self::Running { lease_until } => State::Running { lease_until },
            Self::Unknown { since, cause } => State::Unknown {
                since,
                cause,
                evidence: None,
            },
            Self::Settled {
                brought,
                at,
                resolved,
            } => State::Settled(Settled {
                outcome: brought.outcome(),
                at,
                took: Duration::ZERO,
                expires_at: at.after(retention().keep()),
                archive: retention().archive(),
                resolved,
                erased: false,
            }),
        }
    }
}

impl Brought {
    fn of(outcome: &Outcome) -> Self {
        let body = outcome.body.kept().and_then(|body| body.first_chunk());
        let by = body.expect("an outcome of the model names its claim");
        Self {
            verdict: outcome.verdict,
            by: Fence::new(u64::from_le_bytes(*by)),
        }
    }

    /// The outcome that a store sees: two claims never bring equal ones.
    pub(super) fn outcome(self) -> Outcome {
        let body = self.by.get().to_le_bytes().to_vec();
        match self.verdict {
            Verdict::Succeeded => Outcome::succeeded(body),
            Verdict::Failed => Outcome::failed(body),
        }
    }
}
