//! What a crash test is told.

/// Kills per policy unless the test says otherwise.
const KILLS: usize = 210;

/// Which store is tested, and how long.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The store's name in reports.
    pub name: &'static str,
    /// How often a worker is killed per policy; at least once per named point.
    /// `SEMEL_CRASH_KILLS` overrides it.
    pub kills: usize,
}

impl Options {
    /// The usual number of kills, 210 per policy.
    pub const fn new(name: &'static str) -> Self {
        Self { name, kills: KILLS }
    }

    /// The same with another number of kills, for stores that take their time.
    #[must_use]
    pub const fn kills(self, kills: usize) -> Self {
        Self { kills, ..self }
    }

    /// The same, unless the environment says otherwise.
    pub(crate) fn or_environment(self, points: usize) -> Self {
        let asked = number("SEMEL_CRASH_KILLS").and_then(|kills| usize::try_from(kills).ok());
        // Fewer could not reach every point.
        self.kills(asked.unwrap_or(self.kills).max(points))
    }
}

impl From<&'static str> for Options {
    fn from(name: &'static str) -> Self {
        Self::new(name)
    }
}

/// The number that a variable holds.
pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
