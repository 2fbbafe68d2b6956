//! Decisions about one record: what is asked, what would come of it, and then the decision itself.

use maud::{Markup, html};
use semel_core::store::{Resolution, ResolveRequest};
use semel_core::{Claim, Fence, Identity, Outcome, Record, Store};

use super::again::again;
use super::outcome::{self, field, needed};
use super::{reconcile, record};
use crate::api::records::resolve_now;
use crate::dashboard::{Act, Acted, Ask, Page, ui};
use crate::input::refuse_field;
use crate::records::late;
use crate::refused::{Refused, ask as ask_store};
use crate::tokens::Needs;

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Release,
    Settle,
    Adopt,
    Correct,
    Erase,
    Purge,
}

impl How {
    const ALL: [Self; 6] = [
        Self::Release,
        Self::Settle,
        Self::Adopt,
        Self::Correct,
        Self::Erase,
        Self::Purge,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Settle => "settle",
            Self::Adopt => "adopt",
            Self::Correct => "correct",
            Self::Erase => "erase",
            Self::Purge => "purge",
        }
    }

    /// To forget is more than to decide.
    const fn needs(self) -> Needs {
        match self {
            Self::Release | Self::Settle | Self::Adopt | Self::Correct => Needs::Operate,
            Self::Erase | Self::Purge => Needs::Admin,
        }
    }

    const fn button(self) -> &'static str {
        match self {
            Self::Release => "Release it",
            Self::Settle | Self::Adopt => "Put it on record",
            Self::Correct => "Correct it",
            Self::Erase => "Erase its contents",
            Self::Purge => "Purge it",
        }
    }

    const fn done(self) -> &'static str {
        match self {
            Self::Release => "Released: the next request runs.",
            Self::Settle | Self::Adopt => "It is on record.",
            Self::Correct => "Corrected. Other processes may replay the earlier outcome for 5 s.",
            Self::Erase => "Its contents are erased. Other processes may replay them for 5 s.",
            Self::Purge => "Purged: a request that comes again runs again.",
        }
    }

    fn read(act: &Act) -> Result<Self, Refused> {
        let name: String = needed(act, "how")?;
        let found = Self::ALL.into_iter().find(|how| how.name() == name);
        found.ok_or_else(|| refuse_field("how", &format!("expected a decision, found {name:?}")))
    }

    /// The decision with what the form says of it.
    async fn resolution(self, act: &Act, claim: &Claim) -> Result<Resolution, Refused> {
        Ok(match self {
            Self::Release => Resolution::Release,
            Self::Settle => Resolution::Settle {
                outcome: outcome::read(act)?,
                retention: outcome::retention(act)?,
            },
            Self::Adopt => Resolution::Settle {
                outcome: adopted(act, claim).await?,
                retention: outcome::retention(act)?,
            },
            Self::Correct => Resolution::Correct {
                outcome: outcome::read(act)?,
            },
            Self::Erase => Resolution::EraseContents,
            Self::Purge => Resolution::Erase,
        })
    }
}

/// The late outcome that the form names.
async fn adopted(act: &Act, claim: &Claim) -> Result<Outcome, Refused> {
    let asked = Fence::new(needed(act, "late")?);
    let store = &act.ask.app.parts.store;
    let history = ask_store(store.history(claim.identity.clone())).await?;
    let found = late::candidates(claim.fence, &history).into_iter();
    let mut found = found.filter(|(fence, _)| *fence == asked);
    match (found.next(), found.next()) {
        (Some((_, outcome)), None) => match late::refusal(outcome) {
            Some(why) => Err(refuse_field("late", &why)),
            None => Ok(outcome.clone()),
        },
        (None, _) => Err(refuse_field(
            "late",
            "the history has no late outcome of this fence for the record",
        )),
        (Some(_), Some(_)) => Err(refuse_field(
            "late",
            "its owner brought outcomes that differ; say yourself what happened",
        )),
    }
}

/// The first form of a decision: what it is about, and what it needs to be told. `nth` tells forms of one kind on one page apart.
pub(super) fn form(
    ask: &Ask,
    found: &Record,
    (how, nth): (How, usize),
    title: &str,
    fields: Markup,
) -> Markup {
    let (identity, fence) = (&found.identity, found.fence.to_string());
    let scope = identity.scope().to_string();
    let about = [
        ("tenant", identity.tenant().as_str()),
        ("scope", scope.as_str()),
        ("key", identity.key().as_str()),
        ("fence", fence.as_str()),
    ];
    let form = ask.form(html! {
        (ui::keep(&about))
        (fields)
        (ui::reason(true))
        (ask.who())
        (ui::button("how", how.name(), "Look what that does"))
    });
    let id = format!("{}-{fence}-{nth}", how.name());
    ui::disclosure(&id, title, form)
}

/// Shows what a decision does, and carries it out once that is confirmed.
pub(crate) async fn act(act: Act) -> Result<Acted, Refused> {
    if reconcile::is_meant(&act) {
        return reconcile::act(act).await;
    }
    let how = How::read(&act)?;
    act.ask.caller.must(how.needs())?;
    let claim = Claim {
        identity: Identity::new(
            needed(&act, "tenant")?,
            needed(&act, "scope")?,
            needed(&act, "key")?,
        ),
        fence: Fence::new(needed(&act, "fence")?),
    };
    let request = ResolveRequest {
        by: act.actor()?,
        reason: Some(act.reason()?),
        resolution: how.resolution(&act, &claim).await?,
        claim,
    };
    let back = record::address(&request.claim.identity);
    if field::<String>(&act, "confirm")?.is_none() {
        return Ok(Acted::Show(confirmation(&act, how, &request, &back)));
    }
    resolve_now(&act.ask.app, request).await?;
    Ok(Acted::done(back, how.done()))
}

fn confirmation(act: &Act, how: How, request: &ResolveRequest, back: &str) -> Page {
    let identity = &request.claim.identity;
    let effect = match &request.resolution {
        Resolution::Settle { outcome, retention } => html! {
            (outcome::replayed(outcome))
            p { "It is kept for " (ui::duration(retention.keep())) "." }
        },
        Resolution::Correct { outcome } => outcome::replayed(outcome),
        Resolution::Release | Resolution::Erase => html! {
            p { strong { "The next request with this key runs." } }
        },
        Resolution::EraseContents => html! {
            p { strong { "Duplicates get the status and no body." } " This cannot be taken back." }
        },
    };
    let confirm = match how.needs() {
        Needs::Admin => ui::danger("confirm", "yes", how.button()),
        _ => ui::button("confirm", "yes", how.button()),
    };
    Page::new(format!("{}?", how.button())).rest(html! {
        (ui::facts(&[
            ("Key", html! { code { (identity.key().as_str()) } }),
            ("Scope", html! { (identity.scope().to_string()) }),
            ("Tenant", html! { (identity.tenant().as_str()) }),
            ("Fence", html! { (request.claim.fence.get()) }),
        ]))
        (effect)
        (again(act, &["confirm"], html! { (confirm) " " a href=(back) { "Leave it as it is" } }))
    })
}
