//! Runs the script that drives the browser.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `cargo xtask` has installed the driver.
fn installed() -> PathBuf {
    let dir = std::env::var_os("SEMEL_TEST_BROWSER").unwrap_or_else(|| {
        panic!(
            "SEMEL_TEST_BROWSER is not set: run `cargo xtask test`, or `cargo xtask services up browser` and the export \
             line that it prints"
        )
    });
    PathBuf::from(dir)
}

/// The browser that the same tool has installed.
fn chromium() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|dir| dir.join("chromium"));
    places
        .find(|place| place.is_file())
        .expect("chromium is installed")
}

fn workspace() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.parent().unwrap().to_owned()
}

/// Where a task leaves its pictures: each its own, so that none is read by another before it is whole.
fn screenshots(task: &str) -> PathBuf {
    workspace().join("target/screenshots").join(task)
}

/// Does one task of the script at a dashboard.
pub(crate) fn drive(task: &str, url: &str, options: &[&str]) {
    let pictures = screenshots(task);
    // What an earlier run left is not of this one.
    let _ = std::fs::remove_dir_all(&pictures);
    std::fs::create_dir_all(&pictures).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dashboard/browser.js");
    let mut node = Command::new("node");
    node.env("NODE_PATH", installed().join("node_modules"));
    node.arg(script).args([task, url]).args(options);
    node.arg(format!("screenshots={}", pictures.display()));
    node.arg(format!("chromium={}", chromium().display()));
    let run = node
        .output()
        .unwrap_or_else(|error| panic!("node does not start: {error}"));
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{task}: {said}");
}

/// Pictures of other sizes that the documentation shows.
const OTHERS: [&str; 3] = ["overview-dark.png", "overview-phone.png", "inbox-phone.png"];

/// Looks whether the documentation has each picture that a task took, and replaces it if that is asked for.
pub(crate) fn publish(task: &str) {
    let is_asked = std::env::var_os("SEMEL_UPDATE_SCREENSHOTS").is_some();
    for entry in std::fs::read_dir(screenshots(task)).unwrap() {
        let taken = entry.unwrap().path();
        let name = taken.file_name().unwrap().to_str().unwrap();
        let is_other = ["-dark.png", "-phone.png"]
            .iter()
            .any(|end| name.ends_with(end));
        if is_other && !OTHERS.contains(&name) {
            continue;
        }
        let kept = workspace().join("docs/dashboard").join(name);
        if is_asked {
            std::fs::copy(&taken, &kept).unwrap();
        }
        assert!(
            kept.is_file(),
            "docs/dashboard/{name} is missing: run the test with SEMEL_UPDATE_SCREENSHOTS=1, and show it in docs/dashboard.md"
        );
    }
}
