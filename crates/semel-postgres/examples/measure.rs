//! scratch
#![allow(
    missing_docs,
    clippy::all,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout
)]
use semel_core::inbox::*;
use semel_core::*;
use std::sync::Arc;
use std::time::{Duration, Instant};

const N: usize = 100_000;
const BATCH: usize = 100;
fn workers() -> usize {
    std::env::var("W").map_or(4, |w| w.parse().unwrap())
}
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) / 100.0
}

async fn client(url: &str) -> tokio_postgres::Client {
    let (c, conn) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(conn);
    c
}

async fn raw(url: &str) -> f64 {
    let c = client(url).await;
    c.batch_execute("DROP SCHEMA IF EXISTS measure_raw CASCADE; CREATE SCHEMA measure_raw; CREATE TABLE measure_raw.jobs (id bigserial primary key, consumer text not null, status smallint not null default 0, due timestamptz not null default now(), payload bytea not null, worker text, claimed timestamptz, done timestamptz); CREATE INDEX ON measure_raw.jobs (consumer, due, id) WHERE status = 0").await.unwrap();
    for _ in 0..N / 1000 {
        c.execute("INSERT INTO measure_raw.jobs (consumer, payload) SELECT 'mailer@1', $1 FROM generate_series(1,1000)", &[&vec![7u8; 200]]).await.unwrap();
    }
    c.batch_execute("ANALYZE measure_raw.jobs").await.unwrap();
    let begun = Instant::now();
    let c0 = cpu();
    let mut tasks = Vec::new();
    for _ in 0..workers() {
        let c = client(url).await;
        tasks.push(tokio::spawn(async move {
            let claim = c.prepare("WITH due AS MATERIALIZED (SELECT id FROM measure_raw.jobs WHERE consumer = 'mailer@1' AND status = 0 AND due <= now() ORDER BY due, id LIMIT 100 FOR UPDATE SKIP LOCKED) UPDATE measure_raw.jobs j SET status = 1, worker = 'w', claimed = now() FROM due WHERE j.id = due.id RETURNING j.id, j.payload").await.unwrap();
            let done = c.prepare("UPDATE measure_raw.jobs SET status = 2, done = now() WHERE id = ANY($1) AND status = 1").await.unwrap();
            loop {
                let rows = c.query(&claim, &[]).await.unwrap();
                if rows.is_empty() { break; }
                let ids: Vec<i64> = rows.iter().map(|r| r.get(0)).collect();
                c.execute(&done, &[&ids]).await.unwrap();
            }
        }));
    }
    for t in tasks {
        t.await.unwrap();
    }
    let rate = N as f64 / begun.elapsed().as_secs_f64();
    println!(
        "   client cpu {:.2} of {:.2} s",
        cpu() - c0,
        begun.elapsed().as_secs_f64()
    );
    c.batch_execute("DROP SCHEMA measure_raw CASCADE")
        .await
        .unwrap();
    rate
}

async fn ours(url: &str, keep: bool) -> (f64, f64) {
    let c = client(url).await;
    c.batch_execute("DROP SCHEMA IF EXISTS measure CASCADE")
        .await
        .unwrap();
    let store = Arc::new(
        semel_postgres::Config::from_url(url)
            .unwrap()
            .schema("measure")
            .unwrap()
            .connections(8)
            .sweep_every(None)
            .connect()
            .await
            .unwrap(),
    );
    let plan = Plan::new("mailer@1".parse().unwrap());
    let begun = Instant::now();
    for b in 0..N / 1000 {
        let messages = (0..1000)
            .map(|n| {
                Message::new(
                    Identity::parse("public", "mailer@1", &format!("order-event-{}-{}", b, n))
                        .unwrap(),
                    vec![7u8; 200],
                )
                .unwrap()
            })
            .collect();
        store
            .receive(Arrivals {
                plan: plan.clone(),
                messages,
                position: None,
            })
            .await
            .unwrap();
    }
    let receive = N as f64 / begun.elapsed().as_secs_f64();
    c.batch_execute("ANALYZE measure.semel_work; ANALYZE measure.semel_messages")
        .await
        .unwrap();
    let begun = Instant::now();
    let c0 = cpu();
    let mut tasks = Vec::new();
    if keep {
        return (receive, 0.0);
    }
    for w in 0..workers() {
        let (store, plan) = (store.clone(), plan.clone());
        tasks.push(tokio::spawn(async move {
            let ask = ClaimBatch {
                consumer: plan.consumer.clone(),
                worker: WorkerName::new(format!("w{w}")).unwrap(),
                max: BATCH,
                lease: LeaseTerm::default(),
                on_lost: OnLost::Rerun,
            };
            let (mut tc, mut tf) = (Duration::ZERO, Duration::ZERO);
            let mut count = 0;
            loop {
                let t = Instant::now();
                let claimed = store.claim_batch(ask.clone()).await.unwrap();
                tc += t.elapsed();
                if claimed.jobs.is_empty() {
                    break;
                }
                let items = claimed
                    .jobs
                    .iter()
                    .map(|j| Finish {
                        ticket: j.ticket.clone(),
                        took: Duration::ZERO,
                        verdict: Verdict::Completed {
                            outcome: Outcome::succeeded(""),
                            intents: vec![],
                        },
                    })
                    .collect();
                count += 1;
                let t = Instant::now();
                store.finish(plan.clone(), items).await.unwrap();
                tf += t.elapsed();
            }
            (tc, tf, count)
        }));
    }
    let mut s = (Duration::ZERO, Duration::ZERO, 0);
    for t in tasks {
        let (a, b, n) = t.await.unwrap();
        s.0 += a;
        s.1 += b;
        s.2 += n;
    }
    let rate = N as f64 / begun.elapsed().as_secs_f64();
    println!(
        "   client cpu {:.2} of {:.2} s",
        cpu() - c0,
        begun.elapsed().as_secs_f64()
    );
    println!("   claim {:?} finish {:?} per batch", s.0 / s.2, s.1 / s.2);
    drop(store);
    if !keep {
        c.batch_execute("DROP SCHEMA measure CASCADE")
            .await
            .unwrap();
    }
    (receive, rate)
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let url = std::env::var("SEMEL_TEST_POSTGRES_URL").unwrap();
    let rounds: usize = std::env::args().nth(1).map_or(2, |a| a.parse().unwrap());
    for _ in 0..rounds {
        let r = raw(&url).await;
        let (rx, o) = ours(&url, std::env::args().nth(2).is_some()).await;
        println!(
            "raw {r:.0}/s   ours receive {rx:.0}/s   claim+finish {o:.0}/s   ratio {:.2}",
            o / r
        );
    }
}
