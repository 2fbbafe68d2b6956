//! What a person sees while a benchmark runs.

use indicatif::{ProgressBar, ProgressStyle};

/// Is told how far a benchmark is.
pub trait Progress: Send + Sync {
    /// `done` of `total` steps are behind us; `what` comes next.
    fn step(&self, done: u64, total: u64, what: &str);
}

/// Says nothing; for tests and programs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&self, _done: u64, _total: u64, _what: &str) {}
}

/// A bar on standard error; nothing at all if that is not a terminal.
#[derive(Debug, Clone)]
pub struct Bar(ProgressBar);

impl Bar {
    /// An empty bar.
    pub fn new() -> Self {
        let style = ProgressStyle::with_template("{bar:30} {elapsed:>4} {msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(ProgressBar::new(0).with_style(style))
    }
}

impl Default for Bar {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress for Bar {
    fn step(&self, done: u64, total: u64, what: &str) {
        self.0.set_length(total);
        self.0.set_position(done);
        self.0.set_message(what.to_owned());
        if done == total {
            self.0.finish_and_clear();
        }
    }
}
