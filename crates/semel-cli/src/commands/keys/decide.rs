//! Decisions about a record, by name and with the claim that was seen.

use semel_core::cache::AGE_MAX;
use semel_core::record::Claim;
use semel_core::store::{Reason, Resolution, ResolveAnswer, ResolveRequest};
use semel_core::{Record, StoreExt, duration};

use super::target;
use crate::commands::by::By;
use crate::error::{Error, Result};
use crate::stores::{Opened, StoreArgs};

/// Who decides, and why.
#[derive(Debug, clap::Args)]
pub(crate) struct Decider {
    #[command(flatten)]
    pub(crate) by: By,

    /// Why, for the audit; needed for many records
    #[arg(long, value_name = "WHY", value_parser = reason)]
    pub(crate) reason: Option<Reason>,
}

fn reason(text: &str) -> semel_core::Result<Reason> {
    Reason::new(text)
}

/// What a change of a settled record means for other processes: their caches do not see it.
pub(crate) fn caches_forget_in() -> String {
    format!(
        "gateways that run may replay the earlier outcome from memory for up to {} more",
        duration::show(AGE_MAX)
    )
}

/// Sends a decision about the record that was seen.
pub(crate) async fn decide(
    opened: &Opened,
    store: &StoreArgs,
    seen: &Record,
    decider: &Decider,
    resolution: Resolution,
) -> Result<()> {
    let request = ResolveRequest {
        claim: Claim {
            identity: seen.identity.clone(),
            fence: seen.fence,
        },
        by: decider.by.actor()?,
        reason: decider.reason.clone(),
        resolution,
    };
    match opened.store.resolve_one(request).await? {
        ResolveAnswer::Resolved => Ok(()),
        ResolveAnswer::Refused => Err(Error::refused(format!(
            "{} changed in the meantime; nothing was done",
            seen.identity
        ))
        .hint(format!(
            "look again: {}",
            target::command("show", &seen.identity, "", store)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::Parser;
    use semel_core::record::UnknownCause;
    use semel_core::store::{ClaimAnswer, ClaimRequest, MarkRequest, Takeover};
    use semel_core::{Fingerprint, Identity, LeaseTerm, MemoryStore};
    use std::sync::Arc;

    async fn unknown(opened: &Opened) -> Arc<Record> {
        let identity = Identity::parse("acme", "payments@1", "k").unwrap();
        let request = ClaimRequest {
            identity: identity.clone(),
            fingerprint: Fingerprint::none(),
            lease: LeaseTerm::default(),
            takeover: Takeover::Never,
            about: None,
            nonce: None,
        };
        let ClaimAnswer::Granted(lease) = opened.store.claim_one(request).await.unwrap() else {
            panic!("a first claim is granted");
        };
        let (claim, cause) = (lease.claim, UnknownCause::RunUndecided);
        let mark = MarkRequest {
            claim,
            cause,
            evidence: None,
        };
        opened.store.mark_one(mark).await.unwrap();
        opened.look_up(&identity).await.unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_decision_about_what_has_changed_since_is_refused() {
        let opened = Opened::new(MemoryStore::default());
        let store = Cli::parse_from(["semel", "stats"]).store;
        let (by, reason) = (By::somebody(), None);
        let decider = Decider { by, reason };
        let seen = unknown(&opened).await;
        let release = || decide(&opened, &store, &seen, &decider, Resolution::Release);
        release().await.unwrap();
        let again = unknown(&opened).await;
        let refused = release().await.unwrap_err();
        assert!(refused.message().contains("changed in the meantime"));
        let hint = "semel keys show k --scope payments@1 --tenant acme";
        assert!(refused.advice().unwrap().ends_with(hint));
        let found = opened.look_up(&again.identity).await.unwrap();
        assert_eq!(found, Some(again));
    }
}
