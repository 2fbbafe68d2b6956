//! What was checked and what was found.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{output, text};

/// One thing that was checked.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    name: &'static str,
    /// Whether it keeps nothing from starting.
    ok: bool,
    level: Level,
    found: String,
    advice: Option<String>,
}

/// How good it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// It starts, and an operator should do something.
    Warning,
    /// It cannot start.
    Failed,
}

#[derive(Debug, Default)]
pub(super) struct Report {
    checks: Vec<Check>,
    exit: Option<Exit>,
}

impl Report {
    /// Notes what a check found, and hands on what the next one needs.
    pub(super) fn add<T>(&mut self, name: &'static str, checked: Result<(String, T)>) -> Option<T> {
        let (level, found, advice, value) = match checked {
            Ok((found, value)) => (Level::Good, found, None, Some(value)),
            Err(error) => {
                self.exit = self.exit.or(Some(error.exit()));
                let advice = error.advice().map(ToOwned::to_owned);
                (Level::Failed, error.message().to_owned(), advice, None)
            }
        };
        self.checks.push(Check {
            name,
            ok: level == Level::Good,
            level,
            found,
            advice,
        });
        value
    }

    /// Adds what is worth knowing about the servers.
    pub(super) fn notes(&mut self, notes: Vec<String>) {
        self.noted("server", notes, Level::Note);
    }

    /// Adds what does not keep anything from starting, but needs an operator.
    pub(super) fn warn(&mut self, name: &'static str, warnings: Vec<String>) {
        self.noted(name, warnings, Level::Warning);
    }

    fn noted(&mut self, name: &'static str, found: Vec<String>, level: Level) {
        let check = |found| Check {
            name,
            ok: true,
            level,
            found,
            advice: None,
        };
        self.checks.extend(found.into_iter().map(check));
    }

    pub(super) fn print(&self, json: bool) -> Result<()> {
        #[derive(Serialize)]
        struct Json<'a> {
            ok: bool,
            checks: &'a [Check],
        }
        if json {
            return output::json(&Json {
                ok: self.exit.is_none(),
                checks: &self.checks,
            });
        }
        let line = |check: &Check| {
            let mark = match check.level {
                Level::Good => '✓',
                Level::Note => '·',
                Level::Warning => '!',
                Level::Failed => '✗',
            };
            let advice = check.advice.as_ref();
            let advice = advice.map_or(String::new(), |advice| format!("\n          → {advice}"));
            format!("{mark} {:<6}  {}{advice}", check.name, check.found)
        };
        output::data(&self.checks.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    pub(super) fn verdict(&self) -> Result<()> {
        let Some(exit) = self.exit else {
            return Ok(());
        };
        let failed = self.checks.iter().filter(|check| !check.ok).count();
        let failed = text::plural(failed as u64, "check", "checks");
        Err(Error::new(exit, format!("{failed} failed")))
    }
}
