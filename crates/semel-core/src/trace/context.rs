//! What travels between processes: W3C Trace Context, level 1.

use std::fmt;
use std::sync::Arc;

/// The header that names the trace and the span which caused a request or message.
pub const TRACEPARENT: &str = "traceparent";
/// The header with what vendors add to it.
pub const TRACESTATE: &str = "tracestate";

/// The most bytes of `tracestate` that are passed on; the standard wants at least as many.
const STATE_BYTES_MAX: usize = 512;
/// The most members of `tracestate`.
const STATE_MEMBERS_MAX: usize = 32;
/// `00-`, 32 digits, `-`, 16 digits, `-`, 2 digits.
const LEN: usize = 55;

/// Which span of which trace caused something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    trace: [u8; 16],
    span: [u8; 8],
    sampled: bool,
    state: Option<Arc<str>>,
}

impl TraceContext {
    /// The span `span` of the trace `trace`; `None` if one of them is all zeros, which names nothing.
    pub fn new(trace: [u8; 16], span: [u8; 8], sampled: bool) -> Option<Self> {
        let names_something = trace != [0; 16] && span != [0; 8];
        names_something.then_some(Self {
            trace,
            span,
            sampled,
            state: None,
        })
    }

    /// Reads a `traceparent`; `None` for what is none. A version that is not known yet is read as far as it is like version 00.
    pub fn parse(traceparent: &[u8]) -> Option<Self> {
        let text = traceparent.trim_ascii();
        let (head, rest) = text.split_at_checked(LEN)?;
        let dashes = [head[2], head[35], head[52]] == *b"---";
        let version = hex::<1>(&head[..2])?[0];
        let fits = match version {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest[0] == b'-',
        };
        if !(dashes && fits) {
            return None;
        }
        let flags = hex::<1>(&head[53..])?[0];
        Self::new(hex(&head[3..35])?, hex(&head[36..52])?, flags & 1 == 1)
    }

    /// With the `tracestate` that came along, in one or several headers. One that is too long or no list of members is left out: the
    /// trace goes on without it.
    #[must_use]
    pub fn with_state<'a>(mut self, headers: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut all = String::new();
        for header in headers {
            let Ok(text) = std::str::from_utf8(header.trim_ascii()) else {
                return self;
            };
            if all.len() + text.len() >= STATE_BYTES_MAX {
                return self;
            }
            if !(all.is_empty() || text.is_empty()) {
                all.push(',');
            }
            all.push_str(text);
        }
        self.state = is_state(&all).then(|| all.into());
        self
    }

    /// The trace.
    pub const fn trace(&self) -> &[u8; 16] {
        &self.trace
    }

    /// The span in it.
    pub const fn span(&self) -> &[u8; 8] {
        &self.span
    }

    /// Whether the trace is recorded.
    pub const fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// What vendors added.
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// Another span of the same trace.
    pub(super) fn sibling(&self, span: [u8; 8]) -> Self {
        Self {
            span,
            ..self.clone()
        }
    }
}

impl fmt::Display for TraceContext {
    /// As in `traceparent`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("00-")?;
        self.trace.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
        f.write_str("-")?;
        self.span.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
        write!(f, "-{:02x}", u8::from(self.sampled))
    }
}

/// So many bytes of lower-case hexadecimal digits, which the standard wants.
fn hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

/// Whether a text is a list of `key=value`. What is in it is the vendors' business, but nothing may break a header.
fn is_state(text: &str) -> bool {
    let members = text.split(',').map(str::trim).filter(|m| !m.is_empty());
    let mut count = 0;
    for member in members {
        count += 1;
        let is_plain = member.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let has_key = member.find('=').is_some_and(|at| at > 0);
        if !(is_plain && has_key) || count > STATE_MEMBERS_MAX {
            return false;
        }
    }
    count > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_written_as_it_was_read() {
        let context = TraceContext::parse(GOOD.as_bytes()).unwrap();
        assert_eq!(context.to_string(), GOOD);
        assert!(context.is_sampled());
        let unsampled = GOOD.replace("-01", "-00");
        let context = TraceContext::parse(unsampled.as_bytes()).unwrap();
        assert_eq!(
            (context.to_string(), context.is_sampled()),
            (unsampled, false)
        );
    }

    #[test]
    fn a_later_version_is_read_as_far_as_it_is_known() {
        let later = GOOD.replacen("00", "cc", 1);
        for text in [later.clone(), format!("{later}-what-the-future-brings")] {
            let context = TraceContext::parse(text.as_bytes()).unwrap();
            assert_eq!(context.to_string(), GOOD, "{text}");
        }
        assert_eq!(TraceContext::parse(format!("{later}.x").as_bytes()), None);
    }

    #[test]
    fn what_is_no_traceparent_is_none() {
        for text in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x",
            "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "ééééééééééééééééééééééééééééé",
        ] {
            assert_eq!(TraceContext::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_tracestate_is_passed_on_whole_or_not_at_all() {
        let state = |headers: &[&str]| {
            let context = TraceContext::parse(GOOD.as_bytes()).unwrap();
            let headers = headers.iter().map(|text| text.as_bytes());
            context.with_state(headers).state().map(str::to_owned)
        };
        assert_eq!(state(&["a=1,b=2"]).as_deref(), Some("a=1,b=2"));
        assert_eq!(state(&["a=1", "", "b=2"]).as_deref(), Some("a=1,b=2"));
        for bad in ["", "a", "=1", "a=\u{7f}", "a=é", &"a=1,".repeat(33)] {
            assert_eq!(state(&[bad]), None, "{bad}");
        }
        assert_eq!(state(&[&format!("a={}", "x".repeat(600))]), None);
        let half = format!("a={}", "x".repeat(300));
        assert_eq!(state(&[&half, &half]), None);
    }
}
