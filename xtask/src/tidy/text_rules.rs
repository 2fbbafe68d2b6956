//! Rules for every text file: whitespace, machine paths, unfinished work.

use super::finding::Finding;

/// Markers that say that something is not finished.
const MARKERS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

/// Directories that exist on somebody's machine only.
const MACHINE_DIRS: [&str; 3] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
];

/// Kept byte for byte as another program or party wrote them.
const VERBATIM_DIRS: [&str; 4] = ["vendor", "fixtures", "vectors", "snapshots"];
const VERBATIM_ENDINGS: [&str; 3] = [".snap", ".stderr", ".stdout"];

/// Checks one file of any kind.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !is_verbatim(path) {
        findings.extend(trailing_whitespace(path, text));
        findings.extend(last_newline(path, text));
    }
    findings.extend(machine_paths(path, text));
    if let Some(opening) = comment_opening(path) {
        let comments = text.lines().map(|line| {
            let begin = line.find(opening).unwrap_or(line.len());
            &line[begin..]
        });
        findings.extend(markers(path, comments));
    }
    findings
}

/// Finds markers of unfinished work in the comments of each line.
pub(super) fn markers<'a>(path: &str, comments: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let found = |comment: &str| {
        let mut words = comment.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.find_map(|word| MARKERS.into_iter().find(|marker| *marker == word))
    };
    let numbered = (1..).zip(comments);
    numbered
        .filter_map(|(line, comment)| Some((line, found(comment)?)))
        .map(|(line, marker)| {
            Finding::new(
                path,
                line,
                format!("`{marker}` in a comment: do it, or open an issue"),
            )
        })
        .collect()
}

fn trailing_whitespace(path: &str, text: &str) -> Vec<Finding> {
    let lines = (1..).zip(text.split('\n'));
    lines
        .filter(|(_, line)| line.ends_with(char::is_whitespace))
        .map(|(line, _)| Finding::new(path, line, "trailing whitespace"))
        .collect()
}

fn last_newline(path: &str, text: &str) -> Option<Finding> {
    let line = text.lines().count();
    if !text.is_empty() && !text.ends_with('\n') {
        Some(Finding::new(
            path,
            line,
            "no newline at the end of the file",
        ))
    } else if text.ends_with("\n\n") {
        Some(Finding::new(
            path,
            line,
            "blank line at the end of the file",
        ))
    } else {
        None
    }
}

fn machine_paths(path: &str, text: &str) -> Vec<Finding> {
    let found = |line: &str| MACHINE_DIRS.into_iter().find(|dir| begins_in(line, dir));
    let lines = (1..).zip(text.lines());
    lines
        .filter_map(|(line, content)| Some((line, found(content)?)))
        .map(|(line, dir)| Finding::new(path, line, format!("path of somebody's machine: `{dir}`")))
        .collect()
}

/// Whether an absolute path in `line` begins with `dir`. The same words further
/// down in a relative path or in a URL are no concern.
fn begins_in(line: &str, dir: &str) -> bool {
    line.match_indices(dir).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-.~}".contains(c))
    })
}

fn is_verbatim(path: &str) -> bool {
    VERBATIM_ENDINGS.iter().any(|end| path.ends_with(end))
        || path.split('/').any(|part| VERBATIM_DIRS.contains(&part))
}

/// Rust has a rule of its own, and prose may well speak about markers.
fn comment_opening(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("sql") => Some("--"),
        Some("js") => Some("//"),
        Some("toml" | "yaml" | "yml" | "sh") | None => Some("#"),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;

    #[test]
    fn each_rule_finds_its_breaks_and_nothing_else() {
        let marker = concat!("# TO", "DO later\n");
        let home = concat!("see /ho", "me/me/x\n");
        let url = concat!("https://example.org/ho", "me/x and src/wo", "rk/y\n");
        let file_url = concat!("file:///ro", "ot/x\n");
        let table: &[(&str, &str, &[&str])] = &[
            ("a.md", "fine\n", &[]),
            ("a.md", "", &[]),
            (
                "a.md",
                "x \n\ty\t\n",
                &["1: trailing whitespace", "2: trailing whitespace"],
            ),
            ("a.md", "x\r\n", &["1: trailing whitespace"]),
            ("a.md", "x\ny", &["2: no newline at the end of the file"]),
            ("a.md", "x\n\n", &["2: blank line at the end of the file"]),
            ("vendor/a.js", "x \n\n", &[]),
            ("a/b.snap", "x ", &[]),
            (
                "a.md",
                home,
                &[concat!("1: path of somebody's machine: `/ho", "me/`")],
            ),
            (
                "a.md",
                file_url,
                &[concat!("1: path of somebody's machine: `/ro", "ot/`")],
            ),
            ("a.md", url, &[]),
            (
                "a.toml",
                marker,
                &[concat!(
                    "1: `TO",
                    "DO` in a comment: do it, or open an issue"
                )],
            ),
            ("a.md", marker, &[]),
            ("run", "mktemp # XXXXXX\n", &[]),
        ];
        for (path, text, expected) in table {
            let found = shown(&check(path, text));
            let found: Vec<&str> = found.iter().map(String::as_str).collect();
            assert_eq!(found, *expected, "{path} {text:?}");
        }
    }
}
