//! What `cargo xtask dist` is asked for.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

pub(super) const RELEASE: &str = "release";
const USAGE: &str = "expected dist [--profile NAME] [--target TRIPLE] [--out DIR] [--binary FILE]";

/// The command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// The cargo profile.
    pub(super) profile: String,
    /// What it is built for; without one a static program for this architecture.
    pub(super) target: Option<String>,
    pub(super) out: PathBuf,
    /// A program that is there already, instead of building one.
    pub(super) binary: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(root: &Path, args: &[String]) -> Result<Self> {
        let mut options = Self {
            profile: RELEASE.to_owned(),
            target: None,
            out: root.join("target/dist"),
            binary: None,
        };
        let mut args = args.iter();
        while let Some(flag) = args.next() {
            let value = args.next();
            let value =
                value.ok_or_else(|| Error::Usage(format!("{USAGE}: {flag} has no value")))?;
            match flag.as_str() {
                "--profile" => options.profile.clone_from(value),
                "--target" => options.target = Some(value.clone()),
                "--out" => options.out = root.join(value),
                "--binary" => options.binary = Some(value.into()),
                _ => return Err(Error::Usage(format!("{USAGE}, found {flag}"))),
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_values_and_defaults() {
        let parse = |args: &[&str]| {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            Options::parse(Path::new("/r"), &args)
        };
        let plain = parse(&[]).unwrap();
        assert_eq!((plain.profile.as_str(), plain.target), (RELEASE, None));
        assert_eq!(plain.out, Path::new("/r/target/dist"));
        let all = parse(&[
            "--profile",
            "dev",
            "--target",
            "t",
            "--out",
            "/o",
            "--binary",
            "b",
        ]);
        let all = all.unwrap();
        assert_eq!(
            (all.profile.as_str(), all.target.as_deref()),
            ("dev", Some("t"))
        );
        assert_eq!((all.out, all.binary), ("/o".into(), Some("b".into())));
        assert!(parse(&["--profile"]).is_err());
        assert!(parse(&["--fast", "yes"]).is_err());
    }
}
