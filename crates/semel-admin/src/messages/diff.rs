//! What differs between two payloads, for people.

use std::fmt::Write as _;

/// The most lines that are shown of each side.
const LINES_MAX: usize = 20;
/// The most characters of a line.
const CHARS_MAX: usize = 200;

/// The lines that differ, the old ones with `-` and the new ones with `+`, each side in one piece, and what became of line ends. JSON is compared by its
/// members, one to a line. `None` if one of them is not text.
pub fn diff(before: &[u8], after: &[u8]) -> Option<String> {
    let (plain_before, plain_after) = (text_of(before)?, text_of(after)?);
    let (before, after) = match (pretty(plain_before), pretty(plain_after)) {
        // Where members or digits only look different, the texts are compared.
        (Some(before), Some(after)) if before != after => (before, after),
        _ => (plain_before.to_owned(), plain_after.to_owned()),
    };
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let mut text = compared(&lines(&before), &lines(&after));
    let (old, new) = (LineEnds::of(plain_before), LineEnds::of(plain_after));
    if old != new && old != LineEnds::None && new != LineEnds::None {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "line ends: {} become {}", old.name(), new.name());
    }
    if text.is_empty() && plain_before != plain_after {
        // They differ in nothing but single line ends, so these are shown.
        let pieces = |text: &str| {
            let shown = text.replace('\r', "␍");
            shown.split('\n').map(str::to_owned).collect::<Vec<_>>()
        };
        text = compared(&pieces(plain_before), &pieces(plain_after));
    }
    Some(text)
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnds {
    /// There is no line end.
    None,
    /// All with LF.
    Lf,
    /// All with CR LF.
    CrLf,
    /// Some so and some otherwise, or a CR stands alone.
    Mixed,
}

impl LineEnds {
    /// Those of a text.
    pub fn of(text: &str) -> Self {
        let (both, lf) = (text.matches("\r\n").count(), text.matches('\n').count());
        let cr = text.matches('\r').count();
        match (both, lf, cr) {
            (0, 0, 0) => Self::None,
            (0, _, 0) => Self::Lf,
            _ if both == lf && both == cr => Self::CrLf,
            _ => Self::Mixed,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lf => "LF",
            Self::CrLf => "CR LF",
            Self::Mixed => "mixed ones",
        }
    }
}

fn compared(old: &[String], new: &[String]) -> String {
    let same = old
        .iter()
        .zip(new)
        .take_while(|(old, new)| old == new)
        .count();
    let (old, new) = (&old[same..], &new[same..]);
    let ends = old.iter().rev().zip(new.iter().rev());
    let same = ends.take_while(|(old, new)| old == new).count();
    let mut text = String::new();
    side(&mut text, '-', &old[..old.len() - same]);
    side(&mut text, '+', &new[..new.len() - same]);
    text
}

fn text_of(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// JSON with one member to a line.
fn pretty(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    serde_json::to_string_pretty(&value).ok()
}

fn side(text: &mut String, sign: char, lines: &[String]) {
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
            ("a\r\nb\r\n", "a\nb\n", Some("line ends: CR LF become LF\n")),
            ("a\r\nb\r\n", "a\r\nc\r\n", Some("- b\n+ c\n")),
            ("a\r\nb\n", "a\nb\r\n", Some("- a␍\n- b\n+ a\n+ b␍\n")),
            ("a\n", "a", Some("- \n")),
        ] {
            assert_eq!(
                diff(before.as_bytes(), after.as_bytes()).as_deref(),
                expected
            );
        }
        assert_eq!(diff(&[0xff], b"text"), None);
    }

    #[test]
    fn line_ends_are_of_one_kind_or_mixed() {
        for (text, ends) in [
            ("", LineEnds::None),
            ("a", LineEnds::None),
            ("a\nb", LineEnds::Lf),
            ("a\r\nb\r\n", LineEnds::CrLf),
            ("a\r\nb\n", LineEnds::Mixed),
            ("a\rb", LineEnds::Mixed),
            ("a\rb\r\n", LineEnds::Mixed),
        ] {
            assert_eq!(LineEnds::of(text), ends, "{text:?}");
        }
    }

    #[test]
    fn a_long_difference_is_cut() {
        let many: String = (0..100).map(|n| format!("line {n}\n")).collect();
        let shown = diff(b"", many.as_bytes()).unwrap();
        assert_eq!(shown.lines().count(), LINES_MAX + 1);
        assert!(shown.ends_with("+ … 80 more lines\n"));
    }
}
