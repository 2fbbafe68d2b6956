//! The arguments of `services <verb>`: names, and what a private slot takes.

use crate::error::{Error, Result};

use super::setting::Setting;

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) names: Vec<String>,
    /// The private slot, or none for the shared one.
    pub(super) slot: Option<String>,
    pub(super) settings: Vec<Setting>,
}

impl Options {
    /// Reads `[NAME...] [--slot SLOT] [--set NAME=VALUE]...` in any order.
    pub(super) fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || {
                let value = args.next().cloned();
                value.ok_or_else(|| Error::Usage(format!("`{arg}` needs a value")))
            };
            match arg.as_str() {
                "--slot" => options.slot = Some(value()?),
                "--set" => options.settings.push(Setting::parse(&value()?)?),
                unknown if unknown.starts_with('-') => {
                    return Err(Error::Usage(format!("unknown option `{unknown}`")));
                }
                _ => options.names.push(arg.clone()),
            }
        }
        if options.slot.is_none() && !options.settings.is_empty() {
            let why = "`--set` needs `--slot`: the shared servers are the same for everybody";
            return Err(Error::Usage(why.to_owned()));
        }
        Ok(options)
    }

    /// Refuses settings where they would be ignored.
    pub(super) fn without_settings(self) -> Result<Self> {
        if self.settings.is_empty() {
            Ok(self)
        } else {
            Err(Error::Usage("`--set` is for `services up`".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&args)
    }

    #[test]
    fn names_and_options_come_in_any_order() {
        let options = parse("--slot mine redis --set a=1 --set b=2").unwrap();
        assert_eq!(
            options,
            parse("redis --set a=1 --slot mine --set b=2").unwrap()
        );
        assert_eq!(options.names, ["redis"]);
        assert_eq!(options.slot.as_deref(), Some("mine"));
        assert_eq!(options.settings.len(), 2);
        assert!(options.without_settings().is_err());
        assert_eq!(parse("").unwrap(), Options::default());
    }

    #[test]
    fn what_cannot_be_followed_is_refused() {
        for line in [
            "--slot",
            "redis --set",
            "--slot a --set b",
            "--set a=1",
            "--force",
        ] {
            assert!(matches!(parse(line), Err(Error::Usage(_))), "{line}");
        }
    }
}
