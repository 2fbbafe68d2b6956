//! The pages of the reference that are made from the program: what it says about itself is what they say. `cargo xtask docs` writes them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::schema_page;

/// Set by `cargo xtask docs`.
const WRITE: &str = "SEMEL_WRITE_DOCS";
/// Where headings end; deeper verbs there are none.
const DEPTH_MAX: usize = 3;

const CLI: &str = "\
# The command line

<!-- Written by `cargo xtask docs` from `semel --help`. -->

What `semel --help` and `semel VERB --help` print. `--json` on a read verb writes data for programs; data goes to stdout, everything else to stderr.

";

fn semel(args: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(args)
        .env_remove("SEMEL_STORE")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{args:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// A verb's help and that of the verbs below it.
fn help(path: &[&str], page: &mut String) {
    let shown = semel(&[path, &["--help"]].concat());
    let heading = "#".repeat(path.len() + 2);
    let name = [&["semel"], path].concat().join(" ");
    let lines: Vec<&str> = shown.trim_end().lines().map(str::trim_end).collect();
    *page += &format!(
        "{heading} `{name}`\n\n```text\n{}\n```\n\n",
        lines.join("\n")
    );
    assert!(path.len() <= DEPTH_MAX, "{name}");
    for verb in verbs(&shown) {
        help(&[path, &[verb]].concat(), page);
    }
}

/// What is listed under "Commands:".
fn verbs(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    // A description may go on in the next line, further to the right.
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect()
}

/// Compares a page with what it must say, or writes it.
pub(crate) fn check(name: &str, text: &str) {
    check_file(&format!("docs/reference/{name}"), text);
}

/// The text of a file of the repository; nothing if it is not there.
pub(crate) fn read(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_default()
}

/// The same for any file of the repository.
pub(crate) fn check_file(name: &str, text: &str) {
    let text = format!("{}\n", text.trim_end());
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join(name);
    if std::env::var_os(WRITE).is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "{name} is not what the program says; run `cargo xtask docs`"
    );
}

#[test]
fn the_page_about_the_command_line_is_what_help_prints() {
    let mut page = CLI.to_owned();
    help(&[], &mut page);
    for verb in ["semel gateway", "semel keys list", "semel dlq replay"] {
        assert!(page.contains(&format!("# `{verb}`\n")), "{verb}");
    }
    check("cli.md", &page);
}

#[test]
fn the_page_about_the_settings_is_what_the_schema_says() {
    let schema: Value = serde_json::from_str(&semel(&["config", "schema"])).unwrap();
    check("settings.md", &schema_page::render(&schema));
}
