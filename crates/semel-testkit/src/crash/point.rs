//! The named points at which a worker can be told to stand still and be killed.

/// A point in the life of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// Nothing has been written.
    BeforeClaim,
    /// The claim is durable, the run has begun.
    AfterClaim,
    /// In the middle of the run, the effect not yet made.
    DuringRun,
    /// The effect is made and nobody has written it down.
    AfterEffect,
    /// The outcome is durable and the caller has not been told.
    AfterSettle,
}

impl Point {
    /// Every point, in the order in which an operation passes them.
    pub const ALL: [Self; 5] = [
        Self::BeforeClaim,
        Self::AfterClaim,
        Self::DuringRun,
        Self::AfterEffect,
        Self::AfterSettle,
    ];

    /// The name that supervisor and worker exchange.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BeforeClaim => "before-claim",
            Self::AfterClaim => "after-claim",
            Self::DuringRun => "during-run",
            Self::AfterEffect => "after-effect",
            Self::AfterSettle => "after-settle",
        }
    }

    /// The point with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.name() == name)
    }
}
