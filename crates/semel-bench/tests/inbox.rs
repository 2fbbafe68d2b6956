//! A run of a few milliseconds over an inbox has the shape of a real one; its figures mean nothing.

use std::sync::Arc;

use semel_bench::baseline::inbox::Queue;
use semel_bench::baseline::inbox::sqlite::RawSqliteInbox;
use semel_bench::inbox::{InboxOptions, OpenInbox, OpenRaw, run};
use semel_core::inbox::Inbox;
use semel_sqlite::Config;

fn options(dir: &std::path::Path) -> InboxOptions {
    let open: OpenInbox = Box::new(|place| {
        let store = Config::new(place.dir.join("semel.db")).open();
        Box::pin(async move { Ok(Arc::new(store?) as Arc<dyn Inbox>) })
    });
    let open_raw: OpenRaw = Box::new(|place| {
        let raw = RawSqliteInbox::create(&place.dir.join("raw.db"));
        Box::pin(async move { Ok(Arc::new(raw?) as Arc<dyn Queue>) })
    });
    InboxOptions::new(dir, open, open_raw).quick()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_of_an_inbox_is_ours_by_the_baseline() {
    let dir = tempfile::tempdir().unwrap();
    let report = run(options(dir.path())).await.unwrap();

    let goals: Vec<_> = report.results.iter().map(|r| r.goal).collect();
    assert_eq!(
        goals,
        ["receive", "claims", "parked", "single", "end-to-end"]
    );
    for result in &report.results {
        assert!(result.ours > 0.0 && result.baseline > 0.0, "{result:?}");
        assert_eq!(result.ratio, result.ours / result.baseline, "{result:?}");
        assert!(result.ratio_min <= result.ratio && result.ratio <= result.ratio_max);
        assert_eq!(result.rounds, 3);
        assert_eq!(result.p50_us.is_some(), result.goal != "end-to-end");
        assert!(report.table().contains(&result.name));
    }
    let left = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 0, "the benchmark removes its files");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_parked_messages_there_is_nothing_to_compare_them_to() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path());
    options.parked = 0;
    options.rounds = 1;
    let report = run(options).await.unwrap();
    assert!(report.results.iter().all(|r| r.goal != "parked"));
    assert_eq!(report.json()["results"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn options_of_an_inbox_out_of_bounds_are_refused() {
    let refused = |change: fn(&mut InboxOptions)| async move {
        let mut options = options(std::path::Path::new("/tmp"));
        change(&mut options);
        run(options).await.is_err()
    };
    assert!(refused(|options| options.rounds = 0).await);
    assert!(refused(|options| options.workers = 65).await);
    assert!(refused(|options| options.batch = 2_000).await);
    assert!(refused(|options| options.messages = 0).await);
}
