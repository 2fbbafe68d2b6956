//! Rules for documents: links lead somewhere, and every crate is explained.

use super::files::Files;
use super::finding::Finding;

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Checks that every relative link of a Markdown file leads to something.
pub(super) fn check_links(path: &str, text: &str, exists: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let prose = without_code(text);
    let mut findings = Vec::new();
    for (line, content) in (1..).zip(prose.lines()) {
        let broken = targets(content)
            .filter_map(|target| Some((target, resolve(path, target)?)))
            .filter(|(_, resolved)| !exists(resolved));
        findings.extend(broken.map(|(target, _)| {
            Finding::new(
                path,
                line,
                format!("link to `{target}`, which does not exist"),
            )
        }));
    }
    findings
}

/// Checks that the architecture document mentions every crate.
pub(super) fn check_architecture(files: &Files) -> Vec<Finding> {
    let document = files.get(ARCHITECTURE).map(String::as_str);
    let crates = files.keys().filter_map(|path| {
        let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
        (!name.contains('/')).then_some(name)
    });
    crates
        .filter(|name| !document.is_some_and(|text| mentions(text, name)))
        .map(|name| {
            Finding::new(
                ARCHITECTURE,
                1,
                format!("the crate `{name}` is not mentioned"),
            )
        })
        .collect()
}

/// A name within a longer name is not a mention of it.
fn mentions(text: &str, name: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    words.any(|word| word == name)
}

/// Blanks fenced blocks and code spans, and keeps the lines.
fn without_code(text: &str) -> String {
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
            (None, None) => prose.extend(line.split('`').step_by(2)),
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
fn resolve(from: &str, target: &str) -> Option<String> {
    let file = target.split('#').next().filter(|file| !file.is_empty())?;
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

    #[test]
    fn a_link_must_lead_to_a_file() {
        let exists = |path: &str| ["README.md", "docs/a.md", "docs"].contains(&path);
        let broken = |line: usize, target: &str| {
            vec![format!("{line}: link to `{target}`, which does not exist")]
        };
        let table = [
            (
                "[a](a.md) and [r](../README.md#top) ![i](<a.md> \"title\")",
                vec![],
            ),
            (
                "[w](https://example.org) [m](mailto:a@b) [h](#here) [d](/docs/)",
                vec![],
            ),
            ("one\n[b](b.md)", broken(2, "b.md")),
            ("[b]: ./b.md", broken(1, "./b.md")),
            ("[up](../../x.md)", broken(1, "../../x.md")),
            ("`[b](b.md)` and\n```text\n[b](b.md)\n```\n", vec![]),
            ("```text\n```\n[b](b.md#part)", broken(3, "b.md#part")),
        ];
        for (text, expected) in table {
            let found = shown(&check_links("docs/x.md", text, &exists));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_architecture_mentions_every_crate_by_its_whole_name() {
        let mut files = Files::new();
        for path in ["crates/semel/Cargo.toml", "crates/semel-core/Cargo.toml"] {
            files.insert(path.to_owned(), String::new());
        }
        assert_eq!(check_architecture(&files).len(), 2);
        files.insert(ARCHITECTURE.to_owned(), "see `semel-core`\n".to_owned());
        let expected = ["1: the crate `semel` is not mentioned"];
        assert_eq!(shown(&check_architecture(&files)), expected);
        files.insert(
            ARCHITECTURE.to_owned(),
            "semel/ and semel-core/\n".to_owned(),
        );
        assert!(check_architecture(&files).is_empty());
    }
}
