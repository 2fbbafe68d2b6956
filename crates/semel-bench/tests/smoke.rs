//! A run of a few milliseconds has the shape of a real one; its figures mean nothing.

use std::sync::Arc;
use std::time::Duration;

use semel_bench::store::{OpenStore, StoreOptions, run};
use semel_core::{MemoryStore, Store};
use semel_sqlite::Config;

fn sqlite() -> OpenStore {
    Box::new(|dir| {
        let store = Config::new(dir.join("semel.db")).open();
        Box::pin(async move { Ok(Arc::new(store?) as Arc<dyn Store>) })
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn every_goal_is_measured_and_every_ratio_is_ours_by_the_baseline() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = StoreOptions::new(dir.path(), sqlite()).quick();
    options.prefill = vec![3_000, 1_000];
    let report = run(options).await.unwrap();

    let goals: Vec<_> = report.results.iter().map(|r| r.goal).collect();
    assert_eq!(goals, ["G1", "G1b", "G2", "lone", "G8", "G8b"]);
    for result in &report.results {
        assert!(result.ours > 0.0 && result.baseline > 0.0, "{result:?}");
        assert_eq!(result.ratio, result.ours / result.baseline, "{result:?}");
        assert!(result.ratio_min <= result.ratio && result.ratio <= result.ratio_max);
        assert_eq!(result.rounds, if result.goal == "G8b" { 1 } else { 3 });
    }
    let left = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 0, "the benchmark removes its files");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_json_has_the_agreed_fields_and_the_table_a_row_each() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = StoreOptions::new(dir.path(), sqlite()).quick();
    options.rounds = 1;
    let report = run(options).await.unwrap();

    let json = report.json();
    let results = json["results"].as_array().unwrap();
    let table = report.table();
    for result in results {
        for field in [
            "ours",
            "baseline",
            "ratio",
            "ratio_min",
            "ratio_max",
            "rounds",
        ] {
            assert!(result[field].is_number(), "{field} of {result}");
        }
        assert!(table.contains(result["name"].as_str().unwrap()));
        let has_latency = result["goal"] != "G8b";
        assert_eq!(result["p50_us"].is_number(), has_latency);
        assert_eq!(result["p99_us"].is_number(), has_latency);
    }
    assert!(table.contains("reached"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_files_has_no_bytes_per_record() {
    let dir = tempfile::tempdir().unwrap();
    let open: OpenStore =
        Box::new(|_| Box::pin(async { Ok(Arc::new(MemoryStore::new()) as Arc<dyn Store>) }));
    let report = run(StoreOptions::new(dir.path(), open).quick())
        .await
        .unwrap();
    assert_eq!(report.machine.bytes_per_record, None);
    assert!(report.results.iter().all(|r| r.goal != "G8b"));
}

#[tokio::test]
async fn options_out_of_bounds_are_refused() {
    let refused = |change: fn(&mut StoreOptions)| async move {
        let mut options = StoreOptions::new("/tmp", sqlite()).quick();
        change(&mut options);
        run(options).await.is_err()
    };
    assert!(refused(|options| options.rounds = 0).await);
    assert!(refused(|options| options.callers = 0).await);
    assert!(refused(|options| options.prefill = vec![1; 5]).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_is_looked_at_in_windows_beside_a_store_whose_records_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = semel_bench::SweepOptions::new(dir.path(), sqlite(), sqlite());
    options.callers = 8;
    options.window = Duration::from_millis(20);
    options.lasting = Duration::from_millis(100);
    options.retention = Duration::from_millis(10);
    let report = semel_bench::sweep::run(options).await.unwrap();
    let json = report.json();
    assert_eq!(json["windows"].as_array().unwrap().len(), 5);
    let goals: Vec<_> = report.report.results.iter().map(|r| r.goal).collect();
    assert_eq!(goals, ["G3d", "backlog", "undisturbed"]);
    assert!(report.table().contains("pairs/s"));
}
