//! Rules for links between documents: they lead to a file, and to a heading in it.

use std::collections::BTreeSet;

use super::files::Files;
use super::finding::Finding;

/// Checks that every relative link of a Markdown file leads to something.
pub(super) fn check(path: &str, files: &Files, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let text = files.get(path).map(String::as_str).unwrap_or_default();
    let prose = without_code(text, Spans::Blank);
    let mut findings = Vec::new();
    for (line, content) in (1..).zip(prose.lines()) {
        let broken = targets(content).filter_map(|target| broken(path, target, files, exists));
        findings.extend(broken.map(|message| Finding::new(path, line, message)));
    }
    findings
}

/// What is wrong with a link, if it is one within the repository.
fn broken(
    from: &str,
    target: &str,
    files: &Files,
    exists: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let resolved = match file {
        "" => from.to_owned(),
        file => resolve(from, file)?,
    };
    if !exists(&resolved) {
        return Some(format!("link to `{target}`, which does not exist"));
    }
    let page = files.get(&resolved).filter(|_| resolved.ends_with(".md"));
    let missing = !anchor.is_empty() && page.is_some_and(|page| !anchors(page).contains(anchor));
    missing.then(|| format!("link to `{target}`, where no heading has this name"))
}

/// The names by which the headings of a page can be linked to, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let prose = without_code(page, Spans::Keep);
    let mut anchors = BTreeSet::new();
    for line in prose.lines().filter(|line| line.starts_with('#')) {
        let name = anchor(line.trim_start_matches('#').trim());
        let mut again = 1;
        let mut unique = name.clone();
        while !anchors.insert(unique.clone()) {
            unique = format!("{name}-{again}");
            again += 1;
        }
    }
    anchors
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[derive(Clone, Copy)]
enum Spans {
    Blank,
    Keep,
}

/// Blanks fenced blocks, and code spans if asked, and keeps the lines.
fn without_code(text: &str, spans: Spans) -> String {
    let mut fence: Option<&str> = None;
    let mut prose = String::new();
    for line in text.lines() {
        let opening = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.trim_start().starts_with(mark));
        match (fence, opening) {
            (None, Some(_)) => fence = opening,
            (Some(_), _) if fence == opening => fence = None,
            (Some(_), _) => {}
            (None, None) => match spans {
                Spans::Blank => prose.extend(line.split('`').step_by(2)),
                Spans::Keep => prose.push_str(line),
            },
        }
        prose.push('\n');
    }
    prose
}

/// The targets of inline links, images and link definitions in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.match_indices("](").filter_map(|(at, opening)| {
        let rest = &line[at + opening.len()..];
        Some(&rest[..rest.find(')')?])
    });
    let definition = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]:"))
        .map(|(_, target)| target);
    inline
        .chain(definition)
        .filter_map(|target| target.split_whitespace().next())
        .map(|target| target.trim_matches(['<', '>']))
}

/// The path of a relative link from the root; nothing for other links.
fn resolve(from: &str, file: &str) -> Option<String> {
    let scheme = file.split_once(':').map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| scheme.chars().all(char::is_alphanumeric)) {
        return None;
    }
    let base = match file.starts_with('/') {
        true => "",
        false => from.rsplit_once('/').map_or("", |(dir, _)| dir),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(file.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let page = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let files = Files::from([
            page("docs/x.md", text),
            page(
                "docs/a.md",
                "# The first\n## `store` & more\n## Again\n## Again\n```sh\n# no heading\n```\n",
            ),
            page("README.md", "# Top\n"),
        ]);
        let exists = |path: &str| files.contains_key(path) || path == "docs";
        shown(&check("docs/x.md", &files, &exists))
    }

    #[test]
    fn a_link_must_lead_to_a_file() {
        let broken = |line: usize, target: &str| {
            vec![format!("{line}: link to `{target}`, which does not exist")]
        };
        let table = [
            (
                "[a](a.md) and [r](../README.md#top) ![i](<a.md> \"title\")",
                vec![],
            ),
            (
                "[w](https://example.org) [m](mailto:a@b) [d](/docs/)",
                vec![],
            ),
            ("one\n[b](b.md)", broken(2, "b.md")),
            ("[b]: ./b.md", broken(1, "./b.md")),
            ("[up](../../x.md)", broken(1, "../../x.md")),
            ("`[b](b.md)` and\n```text\n[b](b.md)\n```\n", vec![]),
            ("```text\n```\n[b](b.md#part)", broken(3, "b.md#part")),
        ];
        for (text, expected) in table {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_link_into_a_page_must_lead_to_a_heading() {
        for target in ["a.md#the-first", "a.md#store--more", "a.md#again-1"] {
            assert!(found(&format!("[a]({target})")).is_empty(), "{target}");
        }
        assert!(found("# Here it is\n[h](#here-it-is)").is_empty());
        for target in ["a.md#second", "a.md#again-2", "a.md#no-heading", "#here"] {
            let expected = format!("1: link to `{target}`, where no heading has this name");
            assert_eq!(found(&format!("[a]({target})")), [expected], "{target}");
        }
    }
}
