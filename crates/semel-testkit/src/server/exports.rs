//! What the tool prints: `export NAME=VALUE` lines, quoted for a shell where they have to be.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

const PIDS: &str = "SEMEL_SERVER_PIDS";
const HOME: &str = "SEMEL_SERVER_HOME";

/// The variables that were exported.
#[derive(Default)]
pub(super) struct Exports(BTreeMap<String, String>);

impl fmt::Debug for Exports {
    /// Names only: a URL may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Exports {
    /// Reads the lines; anything else among them is an error in the tool.
    pub(super) fn read(text: &str) -> Self {
        let pair = |line: &str| {
            let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
            Some((name.to_owned(), unquoted(value)))
        };
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let pairs =
            lines.map(|line| pair(line).expect("the tool prints `export NAME=VALUE` lines"));
        Self(pairs.collect())
    }

    /// Takes over what is new.
    pub(super) fn update(&mut self, newer: Self) {
        self.0.extend(newer.0);
    }

    pub(super) fn url(&self) -> &str {
        let is_url = |name: &str| name.starts_with("SEMEL_TEST_");
        let mut urls = self.0.iter().filter(|(name, _)| is_url(name));
        match (urls.next(), urls.next()) {
            (Some((_, url)), None) => url,
            _ => panic!("expected one exported SEMEL_TEST_…, found {self:?}"),
        }
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        let pids = self.one(PIDS).split(',');
        pids.map(|pid| pid.trim().parse().expect("process numbers between commas"))
            .collect()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.one(HOME).into()
    }

    fn one(&self, name: &str) -> &str {
        let found = self.0.get(name);
        found.unwrap_or_else(|| panic!("expected an exported {name}, found {self:?}"))
    }
}

/// Undoes a POSIX shell's quoting, as far as the tool uses it: `'it'\''s'`.
fn unquoted(value: &str) -> String {
    let inner = value.strip_prefix('\'').and_then(|v| v.strip_suffix('\''));
    match inner {
        Some(inner) => inner.replace(r"'\''", "'"),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_read_as_a_shell_would() {
        let told = Exports::read(
            "export SEMEL_TEST_POSTGRES_URL='postgres://u:it'\\''s@h/d?a=1&b=2'\n\
             export SEMEL_SERVER_PIDS=1,22,333\nexport SEMEL_SERVER_HOME=/tmp/x\n",
        );
        assert_eq!(told.url(), "postgres://u:it's@h/d?a=1&b=2");
        assert_eq!(told.pids(), [1, 22, 333]);
        assert_eq!(told.home(), PathBuf::from("/tmp/x"));
    }

    #[test]
    fn a_restart_replaces_what_it_tells_and_nothing_else() {
        let mut told = Exports::read("export SEMEL_SERVER_PIDS=1\nexport SEMEL_SERVER_HOME=/x\n");
        told.update(Exports::read("export SEMEL_SERVER_PIDS=2\n"));
        assert_eq!((told.pids(), told.home()), (vec![2], "/x".into()));
    }

    #[test]
    fn values_are_not_shown() {
        let told = Exports::read("export SEMEL_TEST_REDIS_URL=redis://:secret@h\n");
        assert_eq!(format!("{told:?}"), r#"{"SEMEL_TEST_REDIS_URL"}"#);
    }
}
