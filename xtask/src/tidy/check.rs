//! Runs every rule over every file and prints what they found.

use std::path::Path;

use crate::error::{Error, Result};
use crate::output::data;
use crate::packages;

use super::files::{self, Files};
use super::finding::Finding;
use super::{
    docs_rules, link_rules, manifest_rules, package_rules, rust_rules, shape_rules, text_rules,
};

/// Fails if any rule is broken.
pub(crate) fn run(root: &Path) -> Result<()> {
    let files = files::read(root)?;
    let mut findings = check(root, &files);
    let (packages, compiler) = (packages::read(root)?, packages::compiler()?);
    findings.extend(package_rules::check(&files, &packages, compiler));
    for finding in &findings {
        data(&finding.to_string())?;
    }
    match findings.iter().filter(|finding| !finding.is_note()).count() {
        0 => Ok(()),
        1 => Err(Error::failed("tidy found 1 break of a rule")),
        many => Err(Error::failed(format!("tidy found {many} breaks of rules"))),
    }
}

fn check(root: &Path, files: &Files) -> Vec<Finding> {
    let exists = |path: &str| root.join(path).exists();
    let mut findings = Vec::new();
    for (path, text) in files {
        findings.extend(text_rules::check(path, text));
        if path.ends_with(".rs") {
            findings.extend(rust_rules::check(path, text));
        }
        if path.ends_with(".md") {
            findings.extend(link_rules::check(path, files, &exists));
        }
    }
    findings.extend(manifest_rules::check(files));
    findings.extend(docs_rules::check_architecture(files));
    findings.extend(docs_rules::check_book(files));
    findings.extend(shape_rules::check(files));
    findings
}
