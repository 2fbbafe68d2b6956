//! What `cargo xtask dist` makes can be installed: the program in it runs, and what stands beside it is right.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program to its end and returns what it printed.
fn run(program: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> String {
    let ran = Command::new(program.as_ref())
        .args(args)
        .env_remove("SEMEL_STORE")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(
        ran.status.success(),
        "{:?} {args:?}: {stderr}",
        program.as_ref()
    );
    String::from_utf8(ran.stdout).unwrap()
}

/// The archive and the package, made of the program under test.
fn made(out: &Path) -> (PathBuf, PathBuf) {
    let xtask = std::env::var("SEMEL_TEST_XTASK").expect(
        "SEMEL_TEST_XTASK names no program: run the tests with `cargo xtask test`, or build xtask and name target/debug/xtask",
    );
    let binary = env!("CARGO_BIN_EXE_semel");
    let out = out.to_str().unwrap();
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let args = [
        "dist",
        "--profile",
        "dev",
        "--target",
        &host,
        "--binary",
        binary,
        "--out",
        out,
    ];
    let paths = run(xtask, &args);
    let mut paths = paths.lines().map(PathBuf::from);
    (paths.next().unwrap(), paths.next().unwrap())
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_archive_and_the_package_hold_a_program_that_runs_and_settings_that_are_right() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (archive, package) = made(&dir.path().join("out"));
    assert_eq!(names(&dir.path().join("out")).len(), 2);

    fs::create_dir(dir.path().join("unpacked")).unwrap();
    let unpack = [
        "--extract",
        "--strip-components=1",
        "--file",
        archive.to_str().unwrap(),
    ];
    run(
        "tar",
        &[&unpack[..], &["--directory", &path("unpacked")]].concat(),
    );
    let expected = [
        "CHANGELOG.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "completions",
        "man",
        "semel",
        "semel.service",
        "semel.yaml",
    ];
    assert_eq!(names(&dir.path().join("unpacked")), expected);
    let version = format!("semel {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(path("unpacked/semel"), &["--version"]), version);
    let demo = run(path("unpacked/semel"), &["demo", "--kills", "1", "--json"]);
    assert!(demo.contains("\"double_effects\":0"), "{demo}");

    let package = package.to_str().unwrap();
    run("dpkg-deb", &["--extract", package, &path("root")]);
    assert_eq!(run(path("root/usr/bin/semel"), &["--version"]), version);
    let depends = run("dpkg-deb", &["--field", package, "Depends"]);
    assert!(depends.starts_with("adduser"), "{depends}");
    run("dpkg-deb", &["--control", package, &path("control")]);
    let conffiles = fs::read_to_string(dir.path().join("control/conffiles")).unwrap();
    assert_eq!(conffiles, "/etc/semel/semel.yaml\n");
    for (shell, script) in [
        ("bash", "usr/share/bash-completion/completions/semel"),
        ("zsh", "usr/share/zsh/vendor-completions/_semel"),
        ("fish", "usr/share/fish/vendor_completions.d/semel.fish"),
    ] {
        let installed = fs::read_to_string(path(&format!("root/{script}"))).unwrap();
        assert!(installed.contains("semel"), "{shell}");
    }
    let pages = names(&dir.path().join("root/usr/share/man/man1"));
    assert!(pages.contains(&"semel-serve.1.gz".to_owned()), "{pages:?}");
    let unit = fs::read_to_string(path("root/usr/lib/systemd/system/semel.service")).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/semel serve --config /etc/semel/semel.yaml"));
    // The settings are right but for the directory, which is the account's.
    let settings = fs::read_to_string(path("root/etc/semel/semel.yaml")).unwrap();
    let here = settings.replace("/var/lib/semel", dir.path().to_str().unwrap());
    fs::write(path("semel.yaml"), here).unwrap();
    run(
        path("root/usr/bin/semel"),
        &["check", "--config", &path("semel.yaml")],
    );
}
