//! Measures the embedded store by hand: `cargo run --release -p semel-bench --example store_bench`.

use std::sync::Arc;
use std::time::Duration;

use semel_bench::progress::Bar;
use semel_bench::store::{OpenStore, StoreOptions};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "a report is what this program is for")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let var = |name: &str| std::env::var(name).ok();
    let dir = var("BENCH_DIR").unwrap_or_else(|| "/tmp".into());
    let open: OpenStore = Box::new(|dir| {
        let store = semel_sqlite::Config::new(dir.join("semel.db")).open()?;
        Ok(Arc::new(store))
    });
    let mut options = StoreOptions::new(dir, open);
    options.progress = Box::new(Bar::new());
    if let Some(seconds) = var("BENCH_SECONDS") {
        options.turn = Duration::from_secs_f64(seconds.parse()?);
    }
    if let Some(rounds) = var("BENCH_ROUNDS") {
        options.rounds = rounds.parse()?;
    }
    if let Some(callers) = var("BENCH_CALLERS") {
        options.callers = callers.parse()?;
    }
    if let Some(sizes) = var("BENCH_PREFILL") {
        options.prefill = sizes.split(',').map(str::parse).collect::<Result<_, _>>()?;
    }
    let report = semel_bench::store::run(options).await?;
    println!("{}\n{}", report.table(), report.json());
    Ok(())
}
