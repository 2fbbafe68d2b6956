//! The pretend service's protocol: one line asks, one line answers.

use std::fmt;

/// A payment that a customer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Payment {
    pub(super) key: String,
    pub(super) cents: u64,
}

impl Payment {
    /// The payment with this number; its amount follows from it.
    pub(super) fn number(number: usize) -> Self {
        Self {
            key: format!("payment-{number}"),
            cents: 100 + (number as u64 * 7_919) % 99_900,
        }
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.trim_end().strip_prefix("pay ")?.split(' ');
        let (key, cents) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        Some(Self { key, cents })
    }
}

impl fmt::Display for Payment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "pay {} {}", self.key, self.cents)
    }
}

/// What the service answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// Paid now.
    Paid,
    /// Paid before; this is what was answered then.
    Replayed,
    /// Ask again later.
    Later,
}

impl Reply {
    const ALL: [Self; 3] = [Self::Paid, Self::Replayed, Self::Later];

    /// The line that says so.
    pub(super) const fn line(self) -> &'static str {
        match self {
            Self::Paid => "paid\n",
            Self::Replayed => "replayed\n",
            Self::Later => "later\n",
        }
    }

    pub(super) fn parse(line: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reply| reply.line() == line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_round_trip() {
        let payment = Payment::number(17);
        assert_eq!(Payment::parse(&payment.to_string()), Some(payment));
        for reply in Reply::ALL {
            assert_eq!(Reply::parse(reply.line()), Some(reply));
        }
        for broken in ["", "pay", "pay x", "pay x y", "paid"] {
            assert_eq!(Payment::parse(broken), None);
        }
    }
}
