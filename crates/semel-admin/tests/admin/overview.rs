//! The overview: what it counts, and how often the store is asked for that.

use std::sync::Arc;
use std::time::Duration;

use semel_admin::Config;
use semel_core::Store;
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Disposition};
use semel_core::store::Verb;
use semel_inbox::source::SourceView;
use semel_inbox::{CircuitState, Observer};
use semel_testkit::faulty::{Fault, Faulty};
use semel_testkit::gate::Gate;

use crate::browsing::Browser;
use crate::inbox::{failed, filled};
use crate::server::Server;

impl Server {
    async fn overview(&self) -> String {
        Browser::at(self.address).open("/").await
    }
}

/// The row of a table that names something, without the columns before the name.
fn row_of<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, row) = page.split_once(&format!(">{name}</strong>")).unwrap();
    row.split("</tr>").next().unwrap()
}

#[tokio::test]
async fn what_waits_for_a_person_is_counted_together_and_column_by_column() {
    let server = filled().await;
    let error = ErrorText::new("there is no such template");
    server
        .deal("refused", Disposition::Terminal { error })
        .await;
    let retry = Disposition::Retry {
        after: Duration::from_secs(60),
        cause: Cause::Handler,
        error: ErrorText::new("the mail server is busy"),
    };
    let job = server.claimed("mailer@1").await;
    server.finish(job, retry).await;
    server.deal("parked too", failed(Cause::Handler)).await;
    let page = server.overview().await;
    let row = row_of(&page, "mailer@1");
    for cell in [
        "data-column=\"Backlog\">1<",
        "data-column=\"Retrying\">1<",
        "data-column=\"Failed\">1<",
    ] {
        assert!(row.contains(cell), "{cell}: {row}");
    }
    let (_, tile) = page.split_once(">Dead letters</a></dt>").unwrap();
    assert!(tile.starts_with("<dd>3</dd>"), "{tile}");
}

#[tokio::test]
async fn what_waits_at_the_broker_stands_beside_the_backlog_and_is_no_partial_sum() {
    let server = filled().await;
    let sources = |lags: &'static [Option<u64>]| {
        let view = |lag: &Option<u64>| {
            let mut view = SourceView::new("kafka:orders", "mailer@1".parse().unwrap());
            view.facts.lag = *lag;
            view
        };
        Some(Box::new(move || lags.iter().map(view).collect())
            as Box<dyn Fn() -> Vec<_> + Send + Sync>)
    };
    let shown: [(&[_], _); 4] = [
        (&[Some(7), Some(4)], "11<"),
        (
            &[Some(7), None],
            "≥ 7 <span class=\"hint\">of 1 of 2 sources</span><",
        ),
        (
            &[Some(0), None],
            "0 <span class=\"hint\">of 1 of 2 sources</span><",
        ),
        (&[None], "–<"),
    ];
    for (lags, lag) in shown {
        server.metrics.watch_sources(sources(lags));
        let page = server.overview().await;
        let row = row_of(&page, "mailer@1");
        let cells = format!(
            "data-column=\"Backlog\">1</td><td class=\"number\" data-column=\"At the broker\">{lag}"
        );
        assert!(row.contains(&cells), "{cells}: {row}");
    }
}

#[tokio::test]
async fn a_circuit_that_is_open_shows_where_its_consumer_does() {
    let server = filled().await;
    let consumer = "mailer@1".parse().unwrap();
    let mut browser = Browser::at(server.address);
    for (state, badge) in [
        (CircuitState::Open, "circuit open"),
        (CircuitState::HalfOpen, "circuit half-open"),
    ] {
        server.metrics.circuit(&consumer, state);
        let overview = server.overview().await;
        for page in [overview, browser.open("/inbox").await] {
            assert!(page.contains(&format!(">{badge}<")), "{badge}: {page}");
        }
    }
    server.metrics.circuit(&consumer, CircuitState::Closed);
    assert!(!browser.open("/inbox").await.contains("circuit"));
}

#[tokio::test]
async fn the_overview_its_charts_alerts_and_scrapes_share_one_question_to_the_store() {
    let mut faulty = None;
    let server = Server::start_with(Config::default(), |store| {
        let store = Faulty::new(store);
        store.set(Verb::Stats, Fault::Gated(Gate::closed()));
        faulty = Some(store.clone());
        store as Arc<dyn Store>
    });
    let server = server.await;
    let faulty = faulty.unwrap();
    let mut browser = Browser::at(server.address);
    let (page, scrape) = tokio::join!(browser.open("/"), server.get("/metrics"));
    assert_eq!(scrape.status, 200, "{scrape:?}");
    let (_, tile) = page.split_once(">In progress</dt>").unwrap();
    assert!(tile.starts_with("<dd>–</dd>"), "{tile}");
    assert_eq!(faulty.calls(Verb::Stats), 1);
}
