//! Times, numbers and states as people read them.

use std::time::Duration;

use maud::{Markup, html};
use semel_core::Timestamp;

/// What a colour says. A state is always written, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Nothing.
    Plain,
    /// It is well.
    Good,
    /// It is being worked on.
    Busy,
    /// It deserves a look.
    Warn,
    /// It waits for a person, or is broken.
    Bad,
}

impl Tone {
    /// The class of the style.
    pub(crate) const fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Busy => "busy",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// A word in a colour.
pub(crate) fn badge(tone: Tone, text: &str) -> Markup {
    html! { span class={ "badge " (tone.class()) } { (text) } }
}

/// The badge of a state of a record, a message, a circuit or a part, by its name.
pub(crate) fn state(name: &str) -> Markup {
    let tone = match name {
        "succeeded" | "settled" | "COMPLETED" | "closed" | "ready" => Tone::Good,
        "running" | "IN_PROGRESS" | "RECEIVED" => Tone::Busy,
        "failed" | "FAILED_RETRYABLE" | "half-open" | "paused" | "pending" => Tone::Warn,
        "unknown" | "PARKED" | "FAILED_TERMINAL" | "open" | "firing" | "not ready" => Tone::Bad,
        _ => Tone::Plain,
    };
    badge(tone, name)
}

/// A moment: UTC as served, in the viewer's zone with the script, how long ago as its title.
pub(crate) fn time(at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(at) title=(age(at, now)) { (readable(at)) } }
}

/// How long ago a moment was, with the moment as its title.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> Markup {
    html! { time.ago datetime=(at) title=(readable(at)) { (age(at, now)) } }
}

/// `4m 12s ago`, or `in 4m 12s` for what is still to come; less than a second is too little to be read.
fn age(at: Timestamp, now: Timestamp) -> String {
    const LEAST: Duration = Duration::from_secs(1);
    match (now.since(at), at.since(now)) {
        (age, _) if age >= LEAST => format!("{} ago", duration(age)),
        (_, ahead) if ahead >= LEAST => format!("in {}", duration(ahead)),
        _ => "just now".to_owned(),
    }
}

/// `2026-11-18 20:08:40 UTC`.
fn readable(at: Timestamp) -> String {
    let text = at.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    let seconds = time.split('.').next().unwrap_or_default();
    format!("{date} {seconds} UTC")
}

/// The two largest units.
pub(crate) fn duration(duration: Duration) -> String {
    semel_core::duration::show(duration)
}

/// A number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push('\u{202f}');
        }
        shown.push(digit);
    }
    shown
}

/// A number; where counting stopped, the least that it may be.
pub(crate) fn at_least(number: u64, is_least: bool) -> String {
    match is_least && number > 0 {
        true => format!("≥ {}", count(number)),
        false => count(number),
    }
}

/// The longest name that is kept in one line.
const WHOLE_CHARS_MAX: usize = 32;

/// The class of a name that does not break in a table, least of all at its hyphens; none for a long one.
pub(crate) fn whole(name: &str) -> Option<&'static str> {
    name.chars()
        .nth(WHOLE_CHARS_MAX)
        .is_none()
        .then_some("whole")
}

/// A part of a whole in per cent; a dash where there is no whole.
pub(crate) fn percent(part: f64, whole: f64) -> String {
    match whole > 0.0 {
        true => format!("{:.1} %", part / whole * 100.0),
        false => "–".to_owned(),
    }
}

/// Bytes in the largest unit that leaves a whole number before the point.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1_024 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1_024.0;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    for next in units {
        if value < 1_024.0 {
            break;
        }
        (value, unit) = (value / 1_024.0, next);
    }
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        for (number, shown) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1\u{202f}000"),
            (1_234_567, "1\u{202f}234\u{202f}567"),
        ] {
            assert_eq!(count(number), shown);
        }
        for (number, shown) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_536, "1.5 KiB"),
            (5 << 30, "5.0 GiB"),
        ] {
            assert_eq!(bytes(number), shown);
        }
        assert_eq!(
            (percent(1.0, 8.0), percent(0.0, 0.0)),
            ("12.5 %".to_owned(), "–".to_owned())
        );
    }

    #[test]
    fn a_moment_is_complete_without_the_script() {
        let at = Timestamp::from_millis(1_794_787_200_000);
        let shown = time(at, at.after(Duration::from_secs(90))).into_string();
        let expected = "<time datetime=\"2026-11-16T00:00:00.000Z\" title=\"1m 30s ago\">2026-11-16 00:00:00 UTC</time>";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_moment_lies_behind_or_ahead() {
        let now = Timestamp::from_millis(1_794_787_200_000);
        let minute = Duration::from_secs(60);
        for (at, shown) in [
            (now.before(minute), "1m ago"),
            (now, "just now"),
            (now.after(Duration::from_millis(900)), "just now"),
            (now.after(minute), "in 1m"),
        ] {
            assert_eq!(age(at, now), shown);
        }
    }
}
