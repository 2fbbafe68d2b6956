//! The overview: how much goes through, what waits, what is broken.
//!
//! `figures` has the numbers at the top and the charts, `tables` what stands below them, scope by scope and consumer by consumer.

mod figures;
mod tables;

use maud::html;
use semel_core::Timestamp;
use tokio::time::Instant;

use crate::dashboard::history::{Before, History, Standing, fresh_for};
use crate::dashboard::{Ask, Page, ui};
use crate::health::{Names, Readiness};
use crate::metrics::flow::Through;
use crate::refused::Refused;
use crate::router::App;

/// All that the page shows, of one moment.
struct Now<'a> {
    app: &'a App,
    at: Timestamp,
    history: &'a History,
    readiness: Readiness,
    standing: Standing,
    /// Since the process began.
    through: Through,
    /// What had gone through half a minute ago.
    before: Option<Before>,
}

impl Now<'_> {
    async fn of(ask: &Ask) -> Now<'_> {
        let app: &App = &ask.app;
        let history = &app.dashboard.history;
        let readiness = app.parts.health.readiness(&app.probed, Names::Shown).await;
        Now {
            app,
            at: app.now(),
            history,
            standing: history.standing(&app.parts, fresh_for(ask)).await,
            readiness,
            through: app.parts.store.metrics().through(),
            before: history.recent(Instant::now()),
        }
    }

    /// How many per second, of a number that only grows.
    fn rate(&self, now: u64, of_before: impl Fn(&Through) -> u64) -> f32 {
        let before = self.before.as_ref();
        before.map_or(0.0, |before| before.rate(now, of_before))
    }
}

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let now = Now::of(&ask).await;
    let live = html! {
        (tables::broken(&now))
        @if let Some(firing) = super::alerts::brief(&ask) { (ui::section("Alerts", firing)) }
        (figures::numbers(&now))
        (figures::charts(&now))
        (ui::section("Scopes", tables::scopes(&now)))
        (ui::section("Consumers and targets", tables::consumers(&now)))
        div.columns {
            (ui::section("Process", tables::parts(&now)))
            (ui::section("Store", tables::store(&now)))
        }
    };
    Ok(Page::new("Overview").live(live))
}
