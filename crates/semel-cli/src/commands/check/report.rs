//! What was checked and what was found.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{output, text};

/// One thing that was checked.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    name: &'static str,
    ok: bool,
    found: String,
    advice: Option<String>,
    /// How it looks, if it is neither good nor bad.
    #[serde(skip)]
    note: Option<Note>,
}

/// What is neither good nor bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    /// Worth knowing.
    Known,
    /// It starts, and an operator should do something.
    Warning,
}

#[derive(Debug, Default)]
pub(super) struct Report {
    checks: Vec<Check>,
    exit: Option<Exit>,
}

impl Report {
    /// Notes what a check found, and hands on what the next one needs.
    pub(super) fn add<T>(&mut self, name: &'static str, checked: Result<(String, T)>) -> Option<T> {
        let (ok, found, advice, value) = match checked {
            Ok((found, value)) => (true, found, None, Some(value)),
            Err(error) => {
                self.exit = self.exit.or(Some(error.exit()));
                let advice = error.advice().map(ToOwned::to_owned);
                (false, error.message().to_owned(), advice, None)
            }
        };
        self.checks.push(Check {
            name,
            ok,
            found,
            advice,
            note: None,
        });
        value
    }

    /// Adds what is worth knowing about the servers.
    pub(super) fn notes(&mut self, notes: Vec<String>) {
        self.noted("server", notes, Note::Known);
    }

    /// Adds what does not keep anything from starting, but needs an operator.
    pub(super) fn warn(&mut self, name: &'static str, warnings: Vec<String>) {
        self.noted(name, warnings, Note::Warning);
    }

    fn noted(&mut self, name: &'static str, found: Vec<String>, note: Note) {
        let check = |found| Check {
            name,
            ok: true,
            found,
            advice: None,
            note: Some(note),
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
            let mark = match (check.ok, check.note) {
                (true, None) => '✓',
                (true, Some(Note::Known)) => '·',
                (true, Some(Note::Warning)) => '!',
                (false, _) => '✗',
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
