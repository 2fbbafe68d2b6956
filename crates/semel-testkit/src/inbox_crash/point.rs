//! The named points at which a worker can be told to stand still and be killed.

/// A point in the life of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Point {
    /// The source has delivered it and nothing is written.
    BeforeReceive,
    /// Everything that its source waits for is durable, and the source has not been told.
    BeforeAck,
    /// The source was told.
    AfterAck,
    /// It waits, and nobody has claimed it.
    BeforeClaim,
    /// The claim is durable, the handler has begun.
    AfterClaim,
    /// The handler's first step is written to the database.
    AfterStep,
    /// The provider was called and nobody has written it down.
    AfterCall,
    /// The effect in the database and the outcome are written, and nobody was told.
    AfterWrite,
    /// In the attempt after one that failed.
    DuringRetry,
    /// In the run of a message that was done before.
    DuringReplay,
    /// The intent was sent to its provider and nobody has written it down.
    AfterSend,
}

impl Point {
    /// Every point.
    pub const ALL: [Self; 11] = [
        Self::BeforeReceive,
        Self::BeforeAck,
        Self::AfterAck,
        Self::BeforeClaim,
        Self::AfterClaim,
        Self::AfterStep,
        Self::AfterCall,
        Self::AfterWrite,
        Self::DuringRetry,
        Self::DuringReplay,
        Self::AfterSend,
    ];

    /// The name that supervisor and worker exchange.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BeforeReceive => "before-receive",
            Self::BeforeAck => "before-ack",
            Self::AfterAck => "after-ack",
            Self::BeforeClaim => "before-claim",
            Self::AfterClaim => "after-claim",
            Self::AfterStep => "after-step",
            Self::AfterCall => "after-call",
            Self::AfterWrite => "after-write",
            Self::DuringRetry => "during-retry",
            Self::DuringReplay => "during-replay",
            Self::AfterSend => "after-send",
        }
    }

    /// The point with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|point| point.name() == name)
    }
}
