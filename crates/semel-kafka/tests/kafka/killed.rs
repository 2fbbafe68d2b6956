//! Members of one group in processes of their own, killed with SIGKILL in the middle of whatever they do.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::source::{Event, Settle};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::support::{MUCH, Topic, id, until};

/// The variable that names the topic to the processes that this test starts.
const MEMBER: &str = "SEMEL_KAFKA_MEMBER";
const MESSAGES: usize = 12_000;
const KILLS: usize = 5;

type Seen = Arc<Mutex<BTreeSet<String>>>;

fn start(topic: &Topic, seen: &Seen) -> Child {
    let mut member = Command::new(std::env::current_exe().unwrap());
    member.args([
        "--exact",
        "killed::the_member_that_is_killed",
        "--nocapture",
    ]);
    member.env(MEMBER, &topic.name).kill_on_drop(true);
    member.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut member = member.spawn().unwrap();
    let mut lines = BufReader::new(member.stdout.take().unwrap()).lines();
    let seen = seen.clone();
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            // The last line of a process that is killed may be half of one.
            let id = line.strip_prefix("stored ").filter(|id| id.len() == 8);
            seen.lock().unwrap().extend(id.map(str::to_owned));
        }
    });
    member
}

/// What the processes do: a message is stored once its line is written, and acknowledged after that. Without the variable this is the whole test's
/// run, which starts no member here.
#[tokio::test]
async fn the_member_that_is_killed() {
    let Ok(topic) = std::env::var(MEMBER) else {
        return;
    };
    let source = Topic::source_of(&crate::support::broker(), &topic, "");
    source.open(Vec::new()).await.unwrap();
    loop {
        match source.next(MUCH).await {
            Ok(Event::Batch(batch)) => {
                let lines = batch
                    .deliveries
                    .iter()
                    .map(|d| format!("stored {}\n", id(d)));
                let lines: String = lines.collect();
                let mut out = std::io::stdout().lock();
                out.write_all(lines.as_bytes()).unwrap();
                out.flush().unwrap();
                drop(out);
                let items = batch.deliveries.iter().rev();
                let items = items.map(|d| (d.handle.clone(), Settle::Ack)).collect();
                source.settle(items).await.unwrap();
            }
            Ok(Event::Gone(gone)) => drop(gone.flushed.map(|flushed| flushed.send(()))),
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_are_killed_again_and_again_lose_nothing() {
    let topic = Arc::new(Topic::new(4).await);
    let seen = Seen::default();
    let mut members = [start(&topic, &seen), start(&topic, &seen)];
    let publishing = {
        let topic = topic.clone();
        tokio::spawn(async move {
            for from in (0..MESSAGES).step_by(100) {
                topic.publish_ids(from..from + 100);
                sleep(Duration::from_millis(80)).await;
            }
        })
    };
    for kill in 0..KILLS {
        sleep(Duration::from_millis(2_300)).await;
        let member = &mut members[kill % 2];
        member.kill().await.unwrap();
        *member = start(&topic, &seen);
    }
    publishing.await.unwrap();
    until("all are stored", || seen.lock().unwrap().len() == MESSAGES).await;
    until("all are committed", || {
        topic.committed() == [Some(each(MESSAGES)); 4]
    })
    .await;

    // A member that stands still for longer than its session has lost its partitions when it goes on.
    signal(&members[0], "STOP").await;
    topic.publish_ids(MESSAGES..MESSAGES + 400);
    let all = || seen.lock().unwrap().len() == MESSAGES + 400;
    until("the other member takes over", all).await;
    signal(&members[0], "CONT").await;
    topic.publish_ids(MESSAGES + 400..MESSAGES + 800);
    let all = || topic.committed() == [Some(each(MESSAGES + 800)); 4];
    until("both go on", all).await;
    assert_eq!(seen.lock().unwrap().len(), MESSAGES + 800);
}

fn each(messages: usize) -> i64 {
    i64::try_from(messages / 4).unwrap()
}

async fn signal(member: &Child, name: &str) {
    let mut kill = Command::new("kill");
    kill.args(["-s", name, &member.id().unwrap().to_string()]);
    assert!(kill.status().await.unwrap().success());
}
