//! What differs between two payloads, for people.

use std::fmt::Write as _;

/// The most lines that are shown of each side.
const LINES_MAX: usize = 20;
/// The most characters of a line.
const CHARS_MAX: usize = 200;

/// The lines that differ, the old ones with `-` and the new ones with `+`, each side in one piece. JSON is compared by its members, one to a line.
/// `None` if one of them is not text.
pub fn diff(before: &[u8], after: &[u8]) -> Option<String> {
    let (plain_before, plain_after) = (text_of(before)?, text_of(after)?);
    let (before, after) = match (pretty(plain_before), pretty(plain_after)) {
        // Where members or digits only look different, the texts are compared.
        (Some(before), Some(after)) if before != after => (before, after),
        _ => (plain_before.to_owned(), plain_after.to_owned()),
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old
        .iter()
        .zip(&new)
        .take_while(|(old, new)| old == new)
        .count();
    let (old, new) = (&old[same..], &new[same..]);
    let ends = old.iter().rev().zip(new.iter().rev());
    let same = ends.take_while(|(old, new)| old == new).count();
    let mut text = String::new();
    side(&mut text, '-', &old[..old.len() - same]);
    side(&mut text, '+', &new[..new.len() - same]);
    Some(text)
}

fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// JSON with one member to a line.
fn pretty(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    serde_json::to_string_pretty(&value).ok()
}

fn side(text: &mut String, sign: char, lines: &[&str]) {
    for line in lines.iter().take(LINES_MAX) {
        let shown: String = line.chars().take(CHARS_MAX).collect();
        let cut = if shown.len() < line.len() { "…" } else { "" };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{sign} {shown}{cut}");
    }
    if lines.len() > LINES_MAX {
        let _ = writeln!(text, "{sign} … {} more lines", lines.len() - LINES_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_shown() {
        for (before, after, expected) in [
            (
                r#"{"a":1,"b":2}"#,
                r#"{"a":1,"b":3}"#,
                Some("-   \"b\": 2\n+   \"b\": 3\n"),
            ),
            ("{", "{}", Some("- {\n+ {}\n")),
            ("a\nb\nc", "a\nc", Some("- b\n")),
            ("same", "same", Some("")),
        ] {
            assert_eq!(
                diff(before.as_bytes(), after.as_bytes()).as_deref(),
                expected
            );
        }
        assert_eq!(diff(&[0xff], b"text"), None);
    }

    #[test]
    fn a_long_difference_is_cut() {
        let many: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let shown = diff(b"", many.as_bytes()).unwrap();
        assert_eq!(shown.lines().count(), LINES_MAX + 1);
        assert!(shown.ends_with("+ … 80 more lines\n"));
    }
}
