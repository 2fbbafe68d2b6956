//! The Debian package: program, unit, settings and an account to run as.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{Error, Result};
use crate::process::output;

use super::Dist;
use super::stage::{Help, Stage};

const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];
const SETTINGS: &str = "etc/semel/semel.yaml";
const DOCS: &str = "usr/share/doc/semel";

/// Where Debian's shells and `man` look.
const HELP: Help = Help {
    completions: [
        ("bash", "usr/share/bash-completion/completions/semel"),
        ("zsh", "usr/share/zsh/vendor-completions/_semel"),
        ("fish", "usr/share/fish/vendor_completions.d/semel.fish"),
    ],
    man: "usr/share/man/man1",
    compressed: true,
};

/// Makes `semel_VERSION_ARCH.deb`.
pub(super) fn make(dist: &Dist<'_>, work: &Path) -> Result<PathBuf> {
    let arch = arch(&dist.program.arch)?;
    let stage = Stage::new(work.join("deb"))?;
    stage.program("usr/bin/semel", &dist.program)?;
    stage.help(&dist.program.runnable, &HELP)?;
    let unit = dist.file("packaging/semel.service")?;
    stage.write("usr/lib/systemd/system/semel.service", unit, 0o644)?;
    // It may come to hold passwords and tokens; the group is set when it is installed.
    stage.write(SETTINGS, dist.file("packaging/semel.yaml")?, 0o640)?;
    stage.write(&format!("{DOCS}/README.md"), dist.file("README.md")?, 0o644)?;
    stage.write(&format!("{DOCS}/copyright"), copyright(dist)?, 0o644)?;
    changelog(&stage, dist)?;
    stage.write("DEBIAN/control", control(dist, arch), 0o644)?;
    stage.write("DEBIAN/conffiles", format!("/{SETTINGS}\n"), 0o644)?;
    for script in SCRIPTS {
        let text = dist.file(&format!("packaging/debian/{script}"))?;
        stage.write(&format!("DEBIAN/{script}"), text, 0o755)?;
    }
    let made = dist
        .out
        .join(format!("semel_{}_{arch}.deb", version(&dist.version)));
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "--build"]);
    build.args(if dist.thorough { ["-Zxz"] } else { ["-Zgzip"] });
    build.args(if dist.thorough { ["-z6"] } else { ["-z1"] });
    build.arg(&stage.dir).arg(&made);
    output(&mut build)?;
    Ok(made)
}

/// A pre-release sorts before its release.
fn version(version: &str) -> String {
    version.replacen('-', "~", 1)
}

fn arch(arch: &str) -> Result<&'static str> {
    match arch {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        arch => Err(Error::failed(format!(
            "expected x86_64 or aarch64 for a Debian package, found {arch}"
        ))),
    }
}

fn control(dist: &Dist<'_>, arch: &str) -> String {
    let libraries = if dist.program.is_static {
        ""
    } else {
        ", libc6"
    };
    let version = version(&dist.version);
    format!(
        "Package: semel\n\
         Version: {version}\n\
         Architecture: {arch}\n\
         Maintainer: The Semel Authors <semel-rs@users.noreply.github.com>\n\
         Section: net\n\
         Priority: optional\n\
         Depends: adduser{libraries}\n\
         Homepage: https://github.com/semel-rs/semel\n\
         Description: makes a request or a message take effect once\n \
         Idempotency keys for HTTP APIs, deduplication for webhooks and queues, inbox\n \
         and outbox for messages: an exactly-once effect on at-least-once delivery.\n \
         A gateway in front of any HTTP service, with records in SQLite, PostgreSQL\n \
         or Redis, and commands for the operators who look at them.\n"
    )
}

fn copyright(dist: &Dist<'_>) -> Result<String> {
    let mit = dist.file("LICENSE-MIT")?;
    Ok(format!(
        "Semel is licensed under the MIT licence or the Apache License, version 2.0, at your\n\
         option. The latter is in /usr/share/common-licenses/Apache-2.0; the former follows.\n\n{mit}"
    ))
}

/// Debian wants it compressed, and without a time in it.
fn changelog(stage: &Stage, dist: &Dist<'_>) -> Result<()> {
    let name = format!("{DOCS}/changelog");
    stage.write(&name, dist.file("CHANGELOG.md")?, 0o644)?;
    let path = stage.dir.join(name);
    output(Command::new("gzip").args(["-9", "--no-name"]).arg(path)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prerelease_sorts_before_its_release() {
        assert_eq!(version("0.2.0-rc.1"), "0.2.0~rc.1");
        assert_eq!(version("0.2.0"), "0.2.0");
    }

    #[test]
    fn architectures_have_debians_names() {
        assert_eq!(arch("x86_64").unwrap(), "amd64");
        assert!(arch("riscv64gc").is_err());
    }
}
