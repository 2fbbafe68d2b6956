//! The audit: what people did by hand, to records and to messages, in one list.

use super::ResolveRequest;
use crate::clock::Timestamp;
use crate::identity::Scope;

/// Stands between the parts of a line; no part has control characters.
const SEPARATOR: char = '\u{1f}';

/// A line of the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: String,
    /// What: the verb of the operation.
    pub verb: String,
    /// The action.
    pub action: String,
    /// On which scope: the operation of a record, the consumer of messages.
    pub scope: Scope,
    /// Which records or messages, in words.
    pub selection: String,
    /// How many changed.
    pub changed: u64,
    /// Why.
    pub reason: Option<String>,
}

impl AuditEntry {
    /// One text for stores without columns.
    pub fn encode(&self) -> String {
        let (at, scope, changed) = (self.at.as_millis(), &self.scope, self.changed);
        let reason = self
            .reason
            .iter()
            .map(|reason| format!("{SEPARATOR}{reason}"));
        let parts = [
            at.to_string(),
            self.by.clone(),
            self.verb.clone(),
            self.action.clone(),
            scope.to_string(),
            self.selection.clone(),
            changed.to_string(),
        ];
        parts.join(&SEPARATOR.to_string()) + &reason.collect::<String>()
    }

    /// The inverse of [`AuditEntry::encode`]; `None` for what it did not write.
    pub fn decode(text: &str) -> Option<Self> {
        let mut parts = text.split(SEPARATOR);
        let mut next = || parts.next();
        Some(Self {
            at: Timestamp::from_millis(next()?.parse().ok()?),
            by: next()?.to_owned(),
            verb: next()?.to_owned(),
            action: next()?.to_owned(),
            scope: next()?.parse().ok()?,
            selection: next()?.to_owned(),
            changed: next()?.parse().ok()?,
            reason: next().map(str::to_owned),
        })
    }
}

/// The line that a decision leaves once it is carried out at `at`; none for what a component decided by itself.
pub(crate) fn audit_of(request: &ResolveRequest, at: Timestamp) -> Option<AuditEntry> {
    let identity = &request.claim.identity;
    let outcome = request.resolution.outcome().map(|outcome| {
        let verdict = outcome.verdict.name();
        match outcome.status {
            0 => format!("; as {verdict}"),
            status => format!("; as {verdict}, status {status}"),
        }
    });
    request.by.is_person().then(|| AuditEntry {
        at,
        by: request.by.as_str().to_owned(),
        verb: format!("keys {}", verb(request)),
        action: request.resolution.name().to_owned(),
        scope: identity.scope().clone(),
        selection: format!(
            "key {}; tenant {}; fence {}{}",
            identity.key(),
            identity.tenant(),
            request.claim.fence,
            outcome.unwrap_or_default()
        ),
        changed: 1,
        reason: request
            .reason
            .as_ref()
            .map(|reason| reason.as_str().to_owned()),
    })
}

/// The verb of the command line.
const fn verb(request: &ResolveRequest) -> &'static str {
    match request.resolution {
        super::Resolution::Settle { .. } | super::Resolution::Correct { .. } => "resolve",
        super::Resolution::Release => "release",
        super::Resolution::Erase => "purge",
        super::Resolution::EraseContents => "erase",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        let mut line = AuditEntry {
            at: Timestamp::from_millis(7),
            by: "ann".to_owned(),
            verb: "keys resolve".to_owned(),
            action: "resolve".to_owned(),
            scope: Scope::new("payments", 2).unwrap(),
            selection: "key a; tenant b".to_owned(),
            changed: 3,
            reason: None,
        };
        assert_eq!(AuditEntry::decode(&line.encode()), Some(line.clone()));
        line.reason = Some("the provider says so".to_owned());
        assert_eq!(AuditEntry::decode(&line.encode()), Some(line));
        assert_eq!(AuditEntry::decode("7"), None);
    }
}
