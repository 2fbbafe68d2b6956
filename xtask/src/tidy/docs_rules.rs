//! Rules for documents: every crate is explained, every page is in the book, and no page of the book leads out of it by a path.

use super::files::Files;
use super::finding::Finding;

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const BOOK: &str = "docs/";
const SUMMARY: &str = "docs/SUMMARY.md";

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

/// Checks that the book has every page below `docs`, and that its links work where only the book is.
pub(super) fn check_book(files: &Files) -> Vec<Finding> {
    let summary = files.get(SUMMARY).map(String::as_str).unwrap_or_default();
    let pages = files
        .iter()
        .filter(|(path, _)| path.starts_with(BOOK) && path.ends_with(".md") && *path != SUMMARY);
    let mut findings = Vec::new();
    for (path, text) in pages {
        let name = path.strip_prefix(BOOK).unwrap_or(path);
        if !summary.contains(&format!("]({name})")) {
            findings.push(Finding::new(
                SUMMARY,
                1,
                format!("the page `{name}` is missing"),
            ));
        }
        let depth = name.matches('/').count();
        let out = format!("]({}", "../".repeat(depth + 1));
        let lines = (1..).zip(text.lines());
        let leaving = lines.filter(|(_, content)| content.contains(&out));
        findings.extend(leaving.map(|(line, _)| {
            let message = "link out of the book: use the address of the repository";
            Finding::new(path, line, message)
        }));
    }
    findings
}

/// A name within a longer name is not a mention of it.
fn mentions(text: &str, name: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
    words.any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::super::finding::shown;
    use super::*;

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

    #[test]
    fn every_page_is_in_the_book_and_leads_out_of_it_by_no_path() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let mut files = Files::from([
            file(SUMMARY, "- [A](a.md)\n- [B](b/c.md)\n"),
            file("docs/a.md", "[b](b/c.md)\n"),
            file("docs/b/c.md", "[a](../a.md)\n"),
            file("README.md", "[d](docs/a.md)\n"),
        ]);
        assert!(check_book(&files).is_empty());
        files.extend([
            file("docs/d.md", "\n[r](../README.md)\n"),
            file("docs/b/c.md", "[r](../../README.md)\n"),
        ]);
        let leaves = "link out of the book: use the address of the repository";
        let expected = [
            format!("1: {leaves}"),
            "1: the page `d.md` is missing".to_owned(),
            format!("2: {leaves}"),
        ];
        assert_eq!(shown(&check_book(&files)), expected);
    }
}
