//! `semel keys list`: one page of records.

use semel_admin::records::Method;
use semel_admin::view;
use semel_core::record::UnknownCause;
use semel_core::store::{Cursor, PAGE_MAX, Query, StateFilter};
use semel_core::{Key, Kind, Record, Scope, State, Tenant, Timestamp};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output::{self, Table};
use crate::stores::StoreArgs;
use crate::text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only records in this state: running, unknown, succeeded, failed, settled (either of the two) or archived
    #[arg(long)]
    state: Option<StateFilter>,

    /// Only this tenant's
    #[arg(long)]
    tenant: Option<Tenant>,

    /// Only this scope's: NAME or NAME@VERSION; no version means 1
    #[arg(long)]
    scope: Option<Scope>,

    /// Only this key's, whatever the tenant and the scope: a walk over the records
    #[arg(long)]
    key: Option<Key>,

    /// Only what was asked with this HTTP method
    #[arg(long)]
    method: Option<Method>,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=PAGE_MAX as u64))]
    limit: u64,

    /// Go on where the page before ended: its `next`
    #[arg(long, value_name = "CURSOR")]
    before: Option<Cursor>,

    /// Write JSON: an object with `records` and `next`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    let listed = opened.store.list(args.query()).await;
    let page = listed.map_err(|error| args.refused(error))?;
    let now = opened.now();
    if args.json {
        output::json(&view::Page::of(&page, now))?;
    } else if page.records.is_empty() {
        output::note(&format!("{} in {}", args.nothing(), store.shown()));
    } else {
        table(&page.records, now).print()?;
    }
    if let Some(next) = page.next {
        output::hint(&format!("there are more: {}", args.next_page(&next, store)));
    }
    Ok(())
}

impl Args {
    fn query(&self) -> Query {
        Query {
            state: self.state,
            tenant: self.tenant.as_ref().map(ToString::to_string),
            scope: self.scope.as_ref().map(ToString::to_string),
            before: self.before.clone(),
            key: self.key.as_ref().map(ToString::to_string),
            method: self.method.as_ref().map(ToString::to_string),
            limit: usize::try_from(self.limit).unwrap_or(PAGE_MAX),
        }
    }

    /// Only the store can read a cursor; one that it refuses is a mistake in the command.
    fn refused(&self, error: semel_core::Error) -> Error {
        match (error.kind(), &self.before) {
            (Kind::Invalid, Some(_)) => Error::new(Exit::Usage, error.to_string()),
            _ => error.into(),
        }
    }

    const fn nothing(&self) -> &'static str {
        let is_whole = self.state.is_none()
            && self.tenant.is_none()
            && self.scope.is_none()
            && self.key.is_none()
            && self.method.is_none()
            && self.before.is_none();
        match is_whole {
            true => "there are no records",
            false => "no record matches",
        }
    }

    /// The same question about the next page.
    fn next_page(&self, next: &Cursor, store: &StoreArgs) -> String {
        let option = |name, value: Option<String>| {
            value.map_or(String::new(), |value| {
                format!(" --{name} {}", text::word(&value))
            })
        };
        [
            "semel keys list".to_owned(),
            store.option(),
            option("state", self.state.map(|state| state.name().to_owned())),
            option("tenant", self.tenant.as_ref().map(ToString::to_string)),
            option("scope", self.scope.as_ref().map(ToString::to_string)),
            option("key", self.key.as_ref().map(ToString::to_string)),
            option("method", self.method.as_ref().map(ToString::to_string)),
            option("limit", Some(self.limit.to_string())),
            option("before", Some(next.to_string())),
            if self.json { " --json" } else { "" }.to_owned(),
        ]
        .concat()
    }
}

/// Records one below the other; a column that says nothing is left out.
pub(crate) fn table(records: &[Record], now: Timestamp) -> Table {
    const HEADINGS: [&str; 11] = [
        "STATE", "TENANT", "SCOPE", "KEY", "REQUEST", ">ATTEMPT", ">FENCE", "CLAIMED", "DETAIL",
        ">STATUS", ">BODY",
    ];
    let mut table = Table::new(HEADINGS);
    let is_settled = |record: &Record| matches!(record.state, State::Settled(_));
    if !records.iter().any(|record| record.about.is_some()) {
        table.hide(4);
    }
    if !records.iter().any(is_settled) {
        table.hide(9);
        table.hide(10);
    }
    for record in records {
        let identity = &record.identity;
        let settled = match &record.state {
            State::Settled(settled) => Some(&settled.outcome),
            State::Running { .. } | State::Unknown { .. } => None,
        };
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        table.row(
            output::style_of(record.state.name()),
            [
                record.state.name().to_owned(),
                identity.tenant().to_string(),
                identity.scope().to_string(),
                identity.key().to_string(),
                text::request(record),
                record.attempt.to_string(),
                record.fence.to_string(),
                text::ago(record.claimed_at, now),
                detail(&record.state, now),
                or_dash(
                    settled
                        .and_then(view::status)
                        .map(|status| status.to_string()),
                ),
                or_dash(settled.map(|outcome| outcome.body.len()).map(text::bytes)),
            ],
        );
    }
    table
}

fn detail(state: &State, now: Timestamp) -> String {
    match state {
        State::Running { lease_until } => format!("lease ends {}", text::ahead(*lease_until, now)),
        State::Unknown {
            since,
            cause,
            evidence,
        } => {
            let since = text::ago(*since, now);
            match (evidence, cause) {
                (Some(evidence), _) => format!("{} ({since})", text::cell(&evidence.to_string())),
                (None, UnknownCause::LeaseEnded) => format!("lease ended {since}"),
                (None, UnknownCause::RunUndecided) => format!("owner could not tell ({since})"),
                (None, UnknownCause::RunPanicked) => format!("run panicked {since}"),
            }
        }
        State::Settled(settled) if settled.expires_at <= now => {
            format!("expired {}", text::ago(settled.expires_at, now))
        }
        State::Settled(settled) if settled.resolved => {
            format!("decided {}", text::ago(settled.at, now))
        }
        State::Settled(settled) => format!("settled {}", text::ago(settled.at, now)),
    }
}
