//! Settings of a server beyond the usual ones, given as `--set NAME=VALUE`.

use crate::error::{Error, Result};

/// One line of a server's settings file, in no server's syntax yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) name: String,
    pub(super) value: String,
}

impl Setting {
    /// Reads `NAME=VALUE`. What could become a second line is refused.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let parts = text.split_once('=').filter(|(name, value)| {
            let named = !name.is_empty() && name.chars().all(plain);
            named && !value.chars().any(char::is_control)
        });
        let (name, value) =
            parts.ok_or_else(|| Error::Usage(format!("expected NAME=VALUE, found `{text}`")))?;
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_one_name_and_one_line() {
        let table = [
            ("max_connections=10", Some(("max_connections", "10"))),
            ("maxmemory-policy=a=b", Some(("maxmemory-policy", "a=b"))),
            ("save=", Some(("save", ""))),
            ("=1", None),
            ("port 1=2", None),
            ("port", None),
            ("port=1\nfsync=off", None),
        ];
        for (text, expected) in table {
            let found = Setting::parse(text).ok();
            let found = found.as_ref().map(|s| (s.name.as_str(), s.value.as_str()));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
