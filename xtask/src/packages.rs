//! What cargo knows about the packages of the lock file.

use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::json::Json;
use crate::process::output;
use crate::workspace::cargo;

/// A version of Rust, such as 1.95.0.
pub(crate) type RustVersion = [u64; 3];

/// One package, as far as rules and verbs need it.
#[derive(Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Whether it belongs to the workspace.
    pub(crate) ours: bool,
    pub(crate) published: bool,
    pub(crate) license: Option<String>,
    pub(crate) rust_version: Option<RustVersion>,
    pub(crate) description: Option<String>,
    pub(crate) readme: Option<String>,
    pub(crate) keywords: usize,
    pub(crate) categories: usize,
    pub(crate) features: Vec<String>,
}

impl Package {
    fn read(json: &Json) -> Self {
        let text = |name: &str| json.get(name).text().map(str::to_owned);
        Self {
            name: text("name").unwrap_or_default(),
            version: text("version").unwrap_or_default(),
            ours: *json.get("source") == Json::Null,
            // An empty list of registries is what `publish = false` becomes.
            published: !matches!(json.get("publish"), Json::List(to) if to.is_empty()),
            license: text("license"),
            rust_version: text("rust_version").as_deref().and_then(rust_version),
            description: text("description"),
            readme: text("readme"),
            keywords: json.get("keywords").items().len(),
            categories: json.get("categories").items().len(),
            features: json.get("features").names().map(str::to_owned).collect(),
        }
    }
}

/// The packages that are compiled on this kind of machine.
pub(crate) fn read(root: &Path) -> Result<Vec<Package>> {
    let host = host()?;
    let args = ["metadata", "--format-version", "1", "--locked"];
    let mut metadata = cargo(root, &args);
    let said = output(metadata.args(["--filter-platform", &host]))?;
    let packages = Json::read(&said)?;
    let packages = packages.get("packages").items();
    Ok(packages.iter().map(Package::read).collect())
}

/// The version of the compiler in use.
pub(crate) fn compiler() -> Result<RustVersion> {
    let said = output(Command::new("rustc").arg("--version"))?;
    let version = said.split_whitespace().nth(1).and_then(rust_version);
    version.ok_or_else(|| Error::failed(format!("cannot read the compiler's version in `{said}`")))
}

/// The kind of machine that the compiler runs on, such as x86_64-unknown-linux-gnu.
pub(crate) fn host() -> Result<String> {
    let said = output(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned)
        .ok_or_else(|| Error::failed(format!("the compiler does not name its host: {said}")))
}

/// Reads 1.95, 1.95.0 and 1.95.0-nightly.
pub(crate) fn rust_version(text: &str) -> Option<RustVersion> {
    let numbers = text.split(['-', '+']).next()?;
    let mut version = [0; 3];
    for (at, number) in numbers.split('.').enumerate() {
        *version.get_mut(at)? = number.parse().ok()?;
    }
    Some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_rust_are_read() {
        for (text, expected) in [
            ("1.95", Some([1, 95, 0])),
            ("1.95.1", Some([1, 95, 1])),
            ("1.97.0-nightly", Some([1, 97, 0])),
            ("1.95.0.1", None),
            ("one", None),
        ] {
            assert_eq!(rust_version(text), expected, "{text}");
        }
    }

    #[test]
    fn a_package_is_read_as_cargo_describes_it() {
        let text = r#"{"name": "a", "version": "0.1.0", "source": null, "publish": [], "license": "MIT",
            "rust_version": "1.95", "features": {"b": []}, "keywords": ["c"]}"#;
        let package = Package::read(&Json::read(text).unwrap());
        assert_eq!(
            (package.name.as_str(), package.version.as_str()),
            ("a", "0.1.0")
        );
        assert!(package.ours && !package.published);
        assert_eq!(package.rust_version, Some([1, 95, 0]));
        assert_eq!(
            (package.features, package.keywords),
            (vec!["b".to_owned()], 1)
        );
        let other = r#"{"name": "b", "source": "registry", "publish": null}"#;
        let other = Package::read(&Json::read(other).unwrap());
        assert!(!other.ours && other.published);
    }
}
