//! Publishes, kills and counts.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::member::Member;
use super::outside::{Follower, Outside};
use super::plan::{Plan, message};
use super::tally::Findings;
use super::{PATIENCE, Soak, Topic};
use crate::killing::Scene;

/// How many messages are published at once.
const CHUNK: usize = 50;
/// How often the file outside is read.
const PAUSE: Duration = Duration::from_millis(10);

type Effects = watch::Receiver<usize>;

/// Runs it to its end.
pub(super) async fn supervise(soak: Soak, topic: Topic) -> Findings {
    let (plan, began) = (Arc::new(Plan::from_environment()), Instant::now());
    let scene = Scene::new("soak", &soak.broker.to_lowercase().replace(' ', "-"));
    let Topic { broker, members } = topic;
    let (term, broker) = (broker.term(), Arc::from(broker));
    let (follower, effects) = follow(&scene.dir);
    let publishing = tokio::spawn(publish(broker, plan.clone(), effects.clone()));
    let last = kill(&soak, &scene.dir, &members, &plan, effects.clone()).await;
    reach(effects, plan.distinct).await;
    publishing.await.expect("everything is published");
    // What killed engines had not acknowledged comes again, and is recognised.
    last.until_quiet(term * 2).await;
    last.leave().await;
    follower.abort();
    let mut findings = read(&scene.dir).tally.judged(&plan, began.elapsed());
    findings.wrong.extend(unfinished(&soak, &scene.dir).await);
    scene.end(!findings.wrong.is_empty());
    findings
}

/// Kills engines as planned, while another one joins and leaves if there is one; the engine that is left.
async fn kill(
    soak: &Soak,
    dir: &Path,
    members: &[String],
    plan: &Plan,
    effects: Effects,
) -> Member {
    let mut other: Option<Member> = None;
    let (mut engine, mut turn) = (Member::start(soak, dir, &members[0], 0), 0);
    for kill in &plan.kills {
        if let Some(url) = members.get(1) {
            match other.take() {
                Some(member) => member.leave().await,
                None => other = Some(Member::start(soak, dir, url, turn)),
            }
        }
        reach(effects.clone(), *kill).await;
        engine.kill();
        turn += 1;
        engine = Member::start(soak, dir, &members[0], turn);
    }
    if let Some(member) = other {
        member.leave().await;
    }
    engine
}

/// Publishes as planned, not too far ahead of the effects.
async fn publish(broker: Arc<dyn super::Broker>, plan: Arc<Plan>, mut effects: Effects) {
    let mut published = 0;
    for chunk in plan.deliveries.chunks(CHUNK) {
        if effects
            .wait_for(|effects| effects + plan.ahead >= published)
            .await
            .is_err()
        {
            return;
        }
        broker
            .publish(chunk.iter().map(|number| message(*number)).collect())
            .await;
        let newest = chunk.iter().max().map_or(0, |number| number + 1);
        published = published.max(newest);
    }
}

/// Waits until so many messages have had their effect.
async fn reach(mut effects: Effects, point: usize) {
    loop {
        let found = *effects.borrow_and_update();
        if found >= point {
            return;
        }
        let changed = timeout(PATIENCE, effects.changed()).await;
        let changed = changed.unwrap_or_else(|_| {
            panic!("no effect for {PATIENCE:?} after {found}, {point} expected")
        });
        changed.expect("the file outside is read until the end");
    }
}

/// Counts effects as they happen.
fn follow(dir: &Path) -> (JoinHandle<()>, Effects) {
    // It is there before anything writes to it.
    Outside::open(dir).expect("the file outside can be made");
    let mut follower = Follower::open(dir).expect("the file outside can be read");
    let (sender, effects) = watch::channel(0);
    let following = tokio::spawn(async move {
        loop {
            let found = follower.read().expect("the file outside can be read");
            sender.send_if_modified(|known| std::mem::replace(known, found) != found);
            sleep(PAUSE).await;
        }
    });
    (following, effects)
}

fn read(dir: &Path) -> Follower {
    let mut follower = Follower::open(dir).expect("the file outside can be read");
    follower.read().expect("the file outside can be read");
    follower
}

/// What the store says is not finished, though everything should be.
async fn unfinished(soak: &Soak, dir: &Path) -> Vec<String> {
    let inbox = (soak.inbox)(&dir.join("semel.db"));
    let counts = inbox.counts().await.expect("the inbox answers");
    let open = counts.into_iter().filter(|counts| {
        let open = [
            counts.received,
            counts.in_progress,
            counts.failed_retryable,
            counts.failed_terminal,
            counts.parked,
        ];
        open.iter().sum::<u64>() > 0
    });
    open.map(|counts| format!("not finished: {counts:?}"))
        .collect()
}
