//! Checks that every feature of a published crate compiles by itself, and that the crate compiles without any.
//!
//! The workspace is always built with all features of all its members together, so a missing `use` behind a feature shows only here.

use std::path::Path;

use crate::error::{Error, Result};
use crate::output::note;
use crate::packages::{self, Package};
use crate::workspace::cargo;

/// What a crate has before anything is chosen; it is checked whenever the workspace is.
const DEFAULT: &str = "default";

/// Checks them all, and names all that fail.
pub(crate) fn run(root: &Path) -> Result<()> {
    let packages = packages::read(root)?;
    let failed: Vec<String> = choices(&packages)
        .into_iter()
        .filter(|choice| !choice.compiles(root))
        .map(|choice| choice.to_string())
        .collect();
    match failed.as_slice() {
        [] => Ok(()),
        failed => Err(Error::failed(format!(
            "these do not compile by themselves: {}",
            failed.join(", ")
        ))),
    }
}

/// A crate with one feature, or with none.
#[derive(Debug)]
struct Choice<'a> {
    package: &'a str,
    feature: &'a str,
}

impl std::fmt::Display for Choice<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let feature = match self.feature {
            "" => "no features",
            feature => feature,
        };
        write!(f, "{} with {feature}", self.package)
    }
}

impl Choice<'_> {
    fn compiles(&self, root: &Path) -> bool {
        note(&format!("--- {self}"));
        let args = ["check", "--quiet", "--locked", "--no-default-features"];
        let mut check = cargo(root, &args);
        check.args(["--package", self.package, "--features", self.feature]);
        check.status().is_ok_and(|ended| ended.success())
    }
}

fn choices(packages: &[Package]) -> Vec<Choice<'_>> {
    let ours = packages
        .iter()
        .filter(|package| package.ours && package.published && !package.features.is_empty());
    ours.flat_map(|package| {
        let features = package.features.iter().map(String::as_str);
        let alone = features.filter(|feature| *feature != DEFAULT);
        std::iter::once("").chain(alone).map(|feature| Choice {
            package: &package.name,
            feature,
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_of_a_published_crate_is_checked_alone_and_none_at_all() {
        let package = |name: &str, published, features: &[&str]| Package {
            name: name.to_owned(),
            ours: true,
            published,
            features: features.iter().map(ToString::to_string).collect(),
            ..Package::default()
        };
        let packages = [
            package("semel", true, &["default", "http", "sqlite"]),
            package("xtask", false, &["a"]),
            package("semel-core", true, &[]),
        ];
        let found: Vec<String> = choices(&packages).iter().map(Choice::to_string).collect();
        let expected = [
            "semel with no features",
            "semel with http",
            "semel with sqlite",
        ];
        assert_eq!(found, expected);
    }
}
