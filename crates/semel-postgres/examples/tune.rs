use std::sync::Arc;
use semel_bench::store::{Goals, StoreOptions, run};
use semel_bench::{Baseline, baseline::postgres::RawPostgres};
use semel_core::Store;
#[tokio::main]
async fn main() {
    let url = std::env::var("SEMEL_TEST_POSTGRES_URL").unwrap();
    let extra = std::env::args().nth(1).unwrap_or_default();
    let turn: u64 = std::env::args().nth(2).and_then(|t| t.parse().ok()).unwrap_or(3000);
    let (c, conn) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(conn);
    c.batch_execute("DROP SCHEMA IF EXISTS tune CASCADE; CREATE SCHEMA tune").await.unwrap();
    let u = url.clone();
    let mut o = StoreOptions::new("/tmp", Box::new(move |_| {
        let u = format!("{u}?schema=tune&{extra}");
        Box::pin(async move { Ok(Arc::new(semel_postgres::Config::from_url(&u)?.connect().await?) as Arc<dyn Store>) })
    }));
    let u = url.clone();
    o.open_baseline = Box::new(move |_| { let u = u.clone(); Box::pin(async move { Ok(Arc::new(RawPostgres::connect(&u.parse().unwrap(), "tune", 64).await?) as Arc<dyn Baseline>) }) });
    o.goals = Goals::POSTGRES;
    if let Some(c) = std::env::args().nth(3).and_then(|t| t.parse().ok()) { o.callers = c; o.rounds = 1; }
    o.turn = std::time::Duration::from_millis(turn);
    let r = run(o).await.unwrap();
    println!("{}", r.table());
    let rows = c.query("SELECT relname, n_tup_ins, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname='tune' AND n_tup_ins > 0", &[]).await.unwrap();
    for r in rows { println!("{} ins {} upd {} hot {}", r.get::<_, String>(0), r.get::<_, i64>(1), r.get::<_, i64>(2), r.get::<_, i64>(3)); }
    c.batch_execute("DROP SCHEMA IF EXISTS tune CASCADE").await.unwrap();
}
