//! The dashboard: pages for people, rendered on the server, over the same decisions as the API.
//!
//! Read it in this order:
//!
//! 1. `table` lists all pages; navigation, routing and the live stream come from it.
//! 2. `page` is what a page is given ([`Ask`], [`Act`]) and what it answers ([`Page`], [`Acted`]). Each page is a file of `pages`.
//! 3. `visitor` says who looks: a session's cookie, a bearer token, or a program of this machine. `sessions`, `csrf` and `cookies` are its parts,
//!    `sign_in` its page.
//! 4. `serve` runs a page or an act and wraps it with `frame`; `typed` shows once more what was typed into a form that is refused; `live` renders the
//!    live part of a page again and again; `headers` are those of every answer.
//! 5. `history` takes samples for the charts of the overview; `scopes` counts what runs and what is unknown, scope by scope.
//! 6. `ui` is the kit that pages are made of; `assets` are the one style and the one script.
//!
//! # How to add a page
//!
//! - Write `pages/NAME.rs` with `pub(crate) async fn page(ask: Ask) -> Result<Page, Refused>`. What the viewer asked for is
//!   `ask.query::<YourQuery>()?` (a `serde` struct with `#[serde(default)]`; empty fields of a filter form count as left out), the store
//!   and the inbox are in `ask.app.parts`, who looks is `ask.caller`.
//! - Answer `Page::new("Title").lead(filters).live(what changes by itself).rest(forms and what is opened)`. Only the live part is rendered
//!   again and sent to browsers; give its rows a stable `id` (`Row::new(key, …)`), so that the script updates them in place.
//! - Add a line to `table::PAGES`. The role to look is `Needs::Read`; a page that acts names its act and the role for it.
//! - Acts: `pub(crate) async fn act(act: Act) -> Result<Acted, Refused>`. Session, role, origin and the form's token have been checked before it
//!   runs. `act.fields::<YourForm>()?` reads the form, `act.actor()?` says who decides. Call what the API's handler calls. Answer
//!   `Acted::done(path, "what changed")` (the browser is redirected and shows it once), or `Acted::Show(page)` for a dry run with a second
//!   form that confirms: `ask.form(…)` makes forms, `ui::keep` repeats the fields of the first one. Show forms only if `ask.may(needs)`.
//! - Everything must work without the script, and without inline styles or scripts: the content security policy refuses them.
//! - Use `ui` for tables, badges, times, numbers and empty states; an empty state says what to do next.

mod assets;
mod cookies;
mod csrf;
mod frame;
mod headers;
mod history;
mod live;
mod page;
mod pages;
mod scopes;
mod serve;
mod sessions;
mod sign_in;
mod table;
mod typed;
mod ui;
mod visitor;

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

use crate::gate::Gate;
pub(crate) use page::{Act, Acted, Ask, Page, line_ends};
pub(crate) use serve::{enter, owns, routes};
pub(crate) use sessions::SESSION;

use cookies::Cookies;
use csrf::Csrf;
use history::History;
use sessions::Sessions;

/// What the dashboard remembers while the process runs. Nothing of it outlives the process: after a restart people sign in again.
#[derive(Debug)]
pub(crate) struct Dashboard {
    /// Which tokens hold.
    gate: Gate,
    sessions: Sessions,
    /// What the overview draws.
    history: History,
    csrf: Csrf,
    cookies: Cookies,
    /// Room for live streams.
    streams: Arc<Semaphore>,
    /// Room for wrong attempts to sign in.
    attempts: Semaphore,
    /// True from the moment on that the process stops: streams end, so that the drain does not wait for them.
    stopping: watch::Receiver<bool>,
}

impl Dashboard {
    /// Beside this gate, at this port, with or without TLS.
    pub(crate) fn new(
        gate: Gate,
        settings: Settings,
        stopping: watch::Receiver<bool>,
    ) -> semel_core::Result<Self> {
        Ok(Self {
            gate,
            sessions: Sessions::new(settings.session),
            history: History::default(),
            csrf: Csrf::new()?,
            cookies: Cookies::new(settings.port, settings.is_tls),
            streams: Arc::new(Semaphore::new(live::STREAMS_MAX)),
            attempts: Semaphore::new(sign_in::ATTEMPTS_MAX),
            stopping,
        })
    }
}

impl Dashboard {
    /// Takes samples for the charts, for ever.
    pub(crate) async fn keep_history(
        &self,
        parts: &crate::admin::Parts,
    ) -> std::convert::Infallible {
        self.history.keep(parts).await
    }
}

/// How the dashboard is reached, and how long one stays signed in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// The port; 0 for a unix socket. Browsers send cookies to every port of a machine, so cookies carry it in their names.
    pub(crate) port: u16,
    /// Whether cookies may go over TLS only.
    pub(crate) is_tls: bool,
    /// How long one stays signed in.
    pub(crate) session: std::time::Duration,
}
