//! Where messages stand, in words.

use semel_core::inbox::Cause;
use semel_core::{Identity, Tenant};

use super::OpenInbox;
use crate::error::Error;
use crate::exit::Exit;
use crate::text;

/// The most characters of an error in a table.
const ERROR_CHARS_MAX: usize = 60;

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
        Cause::Unknown => "nobody knows whether its effect happened",
        Cause::KeyExpired => "the provider would no longer recognise its key",
        Cause::OlderVersion => "this version of its key, or a later one, has been applied",
        Cause::Returned => "its worker was shut down before it began",
        Cause::Duplicate => "the same message had arrived before",
        Cause::Operator => "somebody decided so",
        Cause::Replayed => "it was replayed",
        Cause::Handler => "the handler parked it",
        // The core may add causes; their names are words, too.
        _ => cause.name(),
    }
}

/// Text from others in one short line.
pub(crate) fn one_line(error: &str) -> String {
    let line = error.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = text::printable(&line);
    match line.char_indices().nth(ERROR_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
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
