//! `semel inbox list`: one page of messages.

use semel_admin::When;
use semel_admin::view::inbox as view;
use semel_core::inbox::{Cause, Query, State};
use semel_core::store::PAGE_MAX;
use semel_core::{Key, Scope, Tenant};

use crate::commands::messages::{self, OpenInbox};
use crate::error::Result;
use crate::{output, text};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this consumer's: NAME or NAME@VERSION; no version means 1
    consumer: Option<Scope>,

    /// Only in this state, such as PARKED or failed-retryable; may be given many times
    #[arg(long, value_name = "STATE")]
    state: Vec<State>,

    #[command(flatten)]
    page: Page,
}

/// What lists of messages have in common.
#[derive(Debug, clap::Args)]
pub(crate) struct Page {
    /// Only with this cause, such as attempts-exhausted
    #[arg(long)]
    cause: Option<Cause>,

    /// Only with this key: of this lane
    #[arg(long, value_name = "LANE", alias = "lane")]
    key: Option<Key>,

    /// Only this tenant's
    #[arg(long)]
    tenant: Option<Tenant>,

    /// Only received at or after: 2026-11-16T08:30:00Z, or 2h for two hours ago
    #[arg(long, value_name = "TIME")]
    from: Option<When>,

    /// Only received before: 2026-11-16T08:30:00Z, or 2h for two hours ago
    #[arg(long, value_name = "TIME")]
    until: Option<When>,

    /// At most this many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=PAGE_MAX as u64))]
    limit: u64,

    /// Only those received before this one: where the page before ended
    #[arg(long, value_name = "NUMBER")]
    before: Option<u64>,

    /// Write JSON: an object with `messages` and `next`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    let listing = Listing {
        verb: "inbox list",
        consumer: args.consumer.as_ref(),
        states: &args.state,
        said_states: &args.state,
        nothing: "the inbox has no messages",
    };
    args.page.print(open, &listing).await
}

/// Which messages are listed, and by which verb.
pub(crate) struct Listing<'a> {
    pub(crate) verb: &'static str,
    pub(crate) consumer: Option<&'a Scope>,
    pub(crate) states: &'a [State],
    /// The states that the command line names.
    pub(crate) said_states: &'a [State],
    /// What to say if there is nothing at all.
    pub(crate) nothing: &'static str,
}

impl Page {
    /// Writes one page as data.
    pub(crate) async fn print(&self, open: &OpenInbox, listing: &Listing<'_>) -> Result<()> {
        let query = Query {
            states: listing.states.to_vec(),
            consumer: listing.consumer.cloned(),
            id: None,
            lane: self.key.clone(),
            cause: self.cause,
            tenant: self.tenant.clone(),
            from: self.from.map(|when| when.at(open.now())),
            until: self.until.map(|when| when.at(open.now())),
            before: self.before,
            limit: usize::try_from(self.limit).unwrap_or(PAGE_MAX),
        };
        let page = open.inbox.list_messages(query).await?;
        let now = open.now();
        if self.json {
            output::json(&view::Page::of(&page, now))?;
        } else if page.entries.is_empty() {
            output::note(self.nothing(listing));
        } else {
            messages::list(&page.entries, now).print()?;
        }
        if let Some(next) = page.next {
            let command = self.next_page(listing, next, open);
            output::hint(&format!("there are more: {command}"));
        }
        Ok(())
    }

    const fn nothing(&self, listing: &Listing<'_>) -> &'static str {
        let filtered = listing.consumer.is_some()
            || !listing.said_states.is_empty()
            || self.cause.is_some()
            || self.key.is_some()
            || self.tenant.is_some()
            || self.from.is_some()
            || self.until.is_some()
            || self.before.is_some();
        match filtered {
            true => "no message matches",
            false => listing.nothing,
        }
    }

    /// The same question about the next page.
    fn next_page(&self, listing: &Listing<'_>, next: u64, open: &OpenInbox) -> String {
        let option = |name, value: String| format!(" --{name} {}", text::word(&value));
        let mut line = format!("semel {}", listing.verb);
        if let Some(consumer) = listing.consumer {
            line += &format!(" {}", text::word(&consumer.to_string()));
        }
        for state in listing.said_states {
            line += &option("state", state.name().to_owned());
        }
        if let Some(cause) = self.cause {
            line += &option("cause", cause.name().to_owned());
        }
        if let Some(key) = &self.key {
            line += &option("key", key.to_string());
        }
        if let Some(tenant) = &self.tenant {
            line += &option("tenant", tenant.to_string());
        }
        for (name, when) in [("from", self.from), ("until", self.until)] {
            // The next page is of the same stretch of time, whenever it is asked for.
            line += &when.map_or(String::new(), |when| {
                option(name, when.at(open.now()).to_string())
            });
        }
        line += &option("limit", self.limit.to_string());
        line += &option("before", next.to_string());
        line += if self.json { " --json" } else { "" };
        line + &open.option()
    }
}
