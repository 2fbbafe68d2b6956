//! Where messages stand, in words.

use semel_core::inbox::Cause;
use semel_core::{Identity, Tenant};

use super::OpenInbox;
use crate::error::Error;
use crate::exit::Exit;
use crate::text;

/// The most characters of an error in a list.
const ERROR_CHARS_MAX: usize = 100;
/// How many of them are its end, where the root cause stands.
const ERROR_END_CHARS: usize = 60;

/// Why a message is where it is.
pub(crate) const fn why(cause: Cause) -> &'static str {
    match cause {
        Cause::Conflict => "its id is known with another payload",
        Cause::Gap => "an earlier version of its key has not arrived",
        Cause::GapExpired => "an earlier version of its key did not arrive in time",
        Cause::GapFilled => "the version that was missing is done",
        Cause::BehindFailed => "the message before it of the same key failed or is parked",
        Cause::HeadDone => "the message before it of the same key is dealt with",
        Cause::AttemptsExhausted => "all attempts are used up",
        Cause::Terminal => "the handler said that trying again does not help",
        Cause::Retryable => "the handler failed in a way that may pass",
        Cause::DeadlineExceeded => "the handler took longer than its deadline",
        Cause::LeaseEnded => "its worker was lost: the lease ended without an end of the attempt",
        Cause::Unknown => "it is not known whether its effect happened",
        Cause::KeyExpired => "the provider would no longer recognise its key",
        Cause::OlderVersion => "this version of its key, or a later one, has been applied",
        Cause::Returned => "its worker was shut down before it began",
        Cause::Duplicate => "the same message had arrived before",
        Cause::Operator => "an operator decided so",
        Cause::Replayed => "it was replayed",
        Cause::Handler => "the handler parked it",
        Cause::NotReached => "the handler was not reached; the attempt does not count",
        Cause::SettledElsewhere => "another door settled its record before it ran",
        Cause::Unreadable => "what its source delivered could not be read, or has no id",
        // The core may add causes; their names are words, too.
        _ => cause.name(),
    }
}

/// Text from others in one line.
pub(crate) fn flat(error: &str) -> String {
    let line = error.split_whitespace().collect::<Vec<_>>().join(" ");
    text::printable(&line)
}

/// Text from others in one short line: what is too long loses its middle, because the root cause stands at the end.
pub(crate) fn one_line(error: &str) -> String {
    let line = flat(error);
    let chars: Vec<char> = line.chars().collect();
    if chars.len() <= ERROR_CHARS_MAX {
        return line;
    }
    let (begin, end) = chars.split_at(ERROR_CHARS_MAX - ERROR_END_CHARS - 3);
    let begin: String = begin.iter().collect();
    let end: String = end[end.len() - ERROR_END_CHARS..].iter().collect();
    format!("{} … {}", begin.trim_end(), end.trim_start())
}

/// The command that does `verb` to one message, with more `options` if there are any.
pub(crate) fn command(verb: &str, identity: &Identity, options: &str, open: &OpenInbox) -> String {
    let (consumer, id) = (identity.scope().to_string(), identity.key().as_str());
    let mut line = format!("semel {verb} {}", text::word(&consumer));
    let id = text::word(id);
    let looks_like_option = id.starts_with('-');
    if !looks_like_option {
        line += &format!(" {id}");
    }
    if *identity.tenant() != Tenant::public() {
        line += &format!(" --tenant {}", text::word(identity.tenant().as_str()));
    }
    if !options.is_empty() {
        line += &format!(" {options}");
    }
    line += &open.option();
    match looks_like_option {
        true => format!("{line} -- {id}"),
        false => line,
    }
}

/// There is no such message.
pub(crate) fn not_found(identity: &Identity, open: &OpenInbox) -> Error {
    let message = format!("there is no message {identity}");
    Error::new(Exit::NotFound, message).hint(format!(
        "see what there is: semel inbox list {}{}",
        text::word(&identity.scope().to_string()),
        open.option()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_error_keeps_its_root_cause() {
        let long = format!("cannot deliver to {}: connection refused", "x".repeat(200));
        let short = one_line(&long);
        assert!(short.starts_with("cannot deliver to xxx"), "{short}");
        assert!(short.ends_with(": connection refused"), "{short}");
        assert!(short.chars().count() <= ERROR_CHARS_MAX, "{short}");
        assert_eq!(one_line("two\nlines"), "two lines");
    }
}
