//! Java libraries from Maven Central, with all that they need at run time.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::process;

use super::super::{hold, program};
use super::debian;

/// Lies beside the libraries once all of them are there.
const COMPLETE: &str = "complete";

/// Whether `jars` holds these artefacts, named `group:artefact:version`.
pub(super) fn check(jars: &Path, artefacts: &str) -> Result<bool> {
    let path = jars.join(COMPLETE);
    let found = fs::read_to_string(&path).map_err(Error::at("read", &path))?;
    Ok(found == artefacts)
}

pub(super) fn install(dir: &Path, jars: &Path, artefacts: &str) -> Result<()> {
    debian::install_unless("maven", || program::find("mvn").is_some())?;
    let project = dir.join("pom.xml");
    fs::write(&project, pom(artefacts)?).map_err(Error::at("write", &project))?;
    // Two of them at once would write to one repository in the user's home.
    let _held = hold::on_machine("maven")?;
    super::fetching(artefacts);
    let mut mvn = Command::new("mvn");
    mvn.args(["--quiet", "--batch-mode", "--file"])
        .arg(&project);
    mvn.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
    mvn.arg(format!("-DoutputDirectory={}", jars.display()));
    process::output(&mut mvn)?;
    let complete = jars.join(COMPLETE);
    fs::write(&complete, artefacts).map_err(Error::at("write", &complete))
}

/// A project that needs the artefacts and does nothing.
fn pom(artefacts: &str) -> Result<String> {
    let mut needed = String::new();
    for artefact in artefacts.split(' ') {
        let parts: Vec<&str> = artefact.split(':').collect();
        let [group, name, version] = parts.as_slice() else {
            return Err(Error::failed(format!(
                "expected group:artefact:version, found {artefact}"
            )));
        };
        needed.push_str(&format!(
            "<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        ));
    }
    Ok(format!(
        "<project><modelVersion>4.0.0</modelVersion><groupId>semel</groupId><artifactId>test</artifactId>\
         <version>1</version><dependencies>{needed}</dependencies></project>\n"
    ))
}
