//! What shells and `man` get from the program.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

fn semel(args: &[&str]) -> Vec<u8> {
    let ran = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(args)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{args:?}: {ran:?}");
    ran.stdout
}

/// Hands `text` to a program and gives what it says, which must be nothing.
fn is_accepted(program: &str, args: &[&str], text: &[u8]) {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text).unwrap();
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.success() && said.is_empty(),
        "{program}: {said}"
    );
}

#[test]
fn completions_are_scripts_that_name_every_verb() {
    is_accepted("bash", &["-n"], &semel(&["completions", "bash"]));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = String::from_utf8(semel(&["completions", shell])).unwrap();
        for verb in ["serve", "inbox", "top", "completions"] {
            assert!(script.contains(verb), "{shell}: {verb}");
        }
    }
}

#[test]
fn each_verb_has_a_manual_page_without_faults() {
    let groff = std::env::var("SEMEL_TEST_GROFF").expect(
        "SEMEL_TEST_GROFF names no program: run the tests with `cargo xtask test`, or `cargo xtask services up groff`",
    );
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("man");
    semel(&["man", "--out", out.to_str().unwrap()]);
    let mut names = Vec::new();
    for entry in fs::read_dir(&out).unwrap() {
        let path = entry.unwrap().path();
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        let page = fs::read(&path).unwrap();
        is_accepted(&groff, &["-man", "-ww", "-z", "-Tutf8", "-k"], &page);
    }
    for wanted in [
        "semel.1",
        "semel-serve.1",
        "semel-keys-show.1",
        "semel-top.1",
    ] {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted}: {names:?}"
        );
    }
    assert!(!names.iter().any(|name| name.contains("demo-service")));
    let (printed, written) = (semel(&["man"]), fs::read(out.join("semel.1")).unwrap());
    assert_eq!(printed.trim_ascii_end(), written.trim_ascii_end());
}
