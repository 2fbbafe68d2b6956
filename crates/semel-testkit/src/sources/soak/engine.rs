//! The process that is killed: the real source, the real engine, and a handler whose effects are counted outside.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use semel_core::{LeaseTerm, Retention, Scope};
use semel_inbox::intents::{Draft, Target};
use semel_inbox::policy::retry::{ATTEMPTS_MAX, Backoff};
use semel_inbox::{Consumer, Done, Engine, Handler, Retry, Rule, Running, Settings, handler_fn};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::Soak;
use super::member::{Job, Status};
use super::outside::Outside;

/// How long what a killed engine had claimed has to wait.
const LEASE: Duration = Duration::from_secs(2);
const TARGET: &str = "outside";
/// How often the member reports to the supervisor how its source stands.
const PAUSE: Duration = Duration::from_millis(50);

/// Works until standard input ends.
pub(super) async fn serve(soak: Soak, job: Job) {
    let running = start(soak, &job);
    let (end, mut ended) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
        let _ = end.send(());
    });
    loop {
        tokio::select! {
            _ = &mut ended => break,
            () = sleep(PAUSE) => Status::of(&running.sources()[0]).say(),
        }
    }
    running.shutdown().await;
}

fn start(soak: Soak, job: &Job) -> Running {
    let outside = Outside::open(&job.dir).expect("the file outside opens");
    let target = Target::outlet(TARGET, Arc::new(outside.clone())).expect("a plain name");
    let engine = Engine::builder((soak.inbox)(&job.dir.join("semel.db")))
        .settings(Settings {
            poll: Duration::from_millis(200),
            ..Settings::default()
        })
        .consumer(policy(job), handler(outside))
        .target(target.lease(lease()).retry(retry()))
        .source(consumer(), (soak.source)(&job.url), Rule::broker());
    engine.build().expect("an engine with one consumer").start()
}

fn policy(job: &Job) -> Consumer {
    let mut policy = Consumer::new(consumer());
    policy.ack = job.ack;
    policy.lease = lease();
    policy.retry = retry();
    // The id of an intent names its claim, so that a second one of a message would be seen.
    policy.derived_intent_ids = false;
    // Longer than any broker keeps anything.
    let keep = Duration::from_secs(60 * 24 * 60 * 60);
    policy.plan.retention = Retention::delete_after(keep).expect("sixty days are a retention");
    policy
}

fn handler(outside: Outside) -> impl Handler {
    handler_fn(move |ctx| {
        let outside = outside.clone();
        async move {
            let claim = ctx.claim();
            let key = format!("{}~{}", claim.identity.key(), claim.fence.get());
            outside.ran(&key)?;
            ctx.send(Draft::new(TARGET, "effect", "{}").id(key))?;
            Ok(Done::new())
        }
    })
}

fn consumer() -> Scope {
    "soak".parse().expect("a plain name is a scope")
}

fn lease() -> LeaseTerm {
    LeaseTerm::new(LEASE).expect("two seconds are a lease")
}

/// A message whose process is killed has used an attempt, and there are many kills.
fn retry() -> Retry {
    Retry::new(ATTEMPTS_MAX, Backoff::default()).expect("the most attempts there are")
}
