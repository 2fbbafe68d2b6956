//! Small pieces of text for people: moments, sizes, counts, and what is safe to print.

use semel_core::{Record, Timestamp, duration};

/// The most characters of a cell with words from others; what is longer is cut there and whole elsewhere.
const CELL_MAX: usize = 120;

/// How long ago an instant was.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    match now.since(at) {
        passed if passed.as_secs() == 0 => "just now".to_owned(),
        passed => format!("{} ago", duration::show(passed)),
    }
}

/// How long an instant is still ahead.
pub(crate) fn ahead(at: Timestamp, now: Timestamp) -> String {
    format!("in {}", duration::show(at.since(now)))
}

/// An instant with its distance from now.
pub(crate) fn moment(at: Timestamp, now: Timestamp) -> String {
    let distance = if at > now {
        ahead(at, now)
    } else {
        ago(at, now)
    };
    format!("{at} ({distance})")
}

/// A size in the largest unit that leaves a whole number in front.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1_024 {
        return format!("{count} B");
    }
    // Tenths, so that no float is needed.
    let (mut tenths, mut unit) = (count.saturating_mul(10) / 1_024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        (tenths, unit) = (tenths / 1_024, unit + 1);
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A number with its thousands set apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and its noun.
pub(crate) fn plural(number: u64, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{} {many}", count(number)),
    }
}

/// Names and numbers one below the other, with what is worth knowing about numbers that are not zero.
pub(crate) fn counted(lines: &[(&str, u64, &str)]) -> String {
    let names = lines.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let width = lines.iter().map(|(_, number, _)| count(*number).len());
    let width = width.max().unwrap_or(0);
    let line = |(name, number, more): &(&str, u64, &str)| {
        let more = if *number > 0 { *more } else { "" };
        let line = format!("{name:names$}  {:>width$}   {more}", count(*number));
        line.trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text from others, with what could steer a terminal made visible.
pub(crate) fn printable(text: &str) -> String {
    let visible = |c: char| match c {
        '\n' | '\t' => c.to_string(),
        c if c.is_control() => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.chars().map(visible).collect()
}

/// What was asked, in a cell of a table.
pub(crate) fn request(record: &Record) -> String {
    let about = record.about.as_ref();
    about.map_or("-".to_owned(), |about| cell(about.as_str()))
}

/// Words from others that fit into a table.
pub(crate) fn cell(text: &str) -> String {
    match text.char_indices().nth(CELL_MAX) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(text),
    }
}

/// One word for a shell, quoted if it has to be.
pub(crate) fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./_-".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts_read_well() {
        for (number, size, counted) in [
            (0, "0 B", "0"),
            (1_023, "1023 B", "1,023"),
            (1_024, "1.0 KiB", "1,024"),
            (1_048_575, "1023.9 KiB", "1,048,575"),
            (1_572_864, "1.5 MiB", "1,572,864"),
            (999, "999 B", "999"),
        ] {
            assert_eq!(
                (bytes(number).as_str(), count(number).as_str()),
                (size, counted)
            );
        }
        assert!(bytes(u64::MAX).ends_with("TiB"));
    }

    #[test]
    fn words_survive_a_shell() {
        for (text, quoted) in [
            ("payments@1", "payments@1"),
            ("POST /pay", "'POST /pay'"),
            ("it's", r"'it'\''s'"),
            ("$HOME", "'$HOME'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }

    #[test]
    fn nothing_from_others_steers_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\n\tc"), "a\\u{1b}[2Jb\n\tc");
        assert_eq!(printable("\u{9b}31m\r"), "\\u{9b}31m\\u{d}");
    }

    #[test]
    fn moments_say_how_far_they_are() {
        let at = Timestamp::from_millis;
        assert_eq!(ago(at(0), at(999)), "just now");
        assert_eq!(ago(at(5_000), at(0)), "just now");
        assert_eq!(ago(at(0), at(303_000)), "5m 3s ago");
        assert_eq!(ahead(at(12_000), at(0)), "in 12s");
    }
}
