//! What the ledger and the inbox say after all the killing, held against what the source was told.

use std::collections::BTreeMap;
use std::fmt;

use semel_core::inbox::{Detail, Query, State};
use semel_core::store::StoreExt;

use super::handler::mail_of;
use super::job::Job;
use super::source::Source;
use super::{Open, Opened, Point};
use crate::killing::{self, Kills, opened, runtime};

/// How a run fared.
#[derive(Debug)]
pub(super) struct Findings {
    kills: Kills<Point>,
    messages: usize,
    /// Calls of the handler's provider, effects in the database, and intents that were sent.
    effects: usize,
    /// Messages with more than one effect of a kind.
    doubled: usize,
    /// Messages that lack an effect of a kind, or that nobody knows any more.
    lost: usize,
    replayed: usize,
    wrong: Vec<String>,
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "    {} kills, {} messages, {} effects of 3 kinds, {} doubled, {} lost, {} replayed\n    {}",
            self.kills.total,
            self.messages,
            self.effects,
            self.doubled,
            self.lost,
            self.replayed,
            self.kills
        )
    }
}

impl killing::Findings for Findings {
    fn fields(&self) -> Vec<String> {
        let whole = self.messages.saturating_sub(self.doubled + self.lost);
        let (repeated, unknown) = (0, 0);
        let numbers = [
            self.kills.total,
            self.messages,
            whole,
            self.doubled,
            repeated,
            unknown,
            self.lost,
            self.wrong.len(),
        ];
        let what = std::iter::once("inbox".to_owned());
        what.chain(numbers.map(|n| n.to_string())).collect()
    }

    fn wrong(&self) -> &[String] {
        &self.wrong
    }
}

/// Judges a finished run.
pub(super) fn judge(
    job: &Job,
    source: &Source,
    kills: Kills<Point>,
    open: Open<Opened>,
) -> Findings {
    let mut findings = Findings {
        messages: source.delivered.len(),
        effects: 0,
        doubled: 0,
        lost: 0,
        replayed: source.replayed.len(),
        wrong: kills.missing().collect(),
        kills,
    };
    runtime().block_on(async {
        let opened = opened(open, &job.scene.dir).await;
        messages(job, source, &opened, &mut findings).await;
    });
    job.scene.end(!findings.wrong.is_empty());
    findings
}

async fn messages(job: &Job, source: &Source, opened: &Opened, findings: &mut Findings) {
    let (store, inbox) = opened;
    let ledger = job.scene.ledger();
    let written = intents(job, opened).await;
    for id in &source.delivered {
        let calls = ledger.count(id).expect("the ledger can be read");
        let mails = ledger.count(&mail_of(id)).expect("the ledger can be read");
        let writes = written.get(id).copied().unwrap_or(0);
        let counts = [calls, writes, mails];
        findings.effects += counts.iter().sum::<usize>();
        findings.doubled += usize::from(counts.iter().any(|count| *count > 1));
        findings.lost += usize::from(counts.contains(&0));
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                let names = "calls, writes, mails";
                let wrong = format!("{id} {what}; {names}: {counts:?}");
                findings.wrong.push(wrong);
            }
        };
        expect(counts == [1, 1, 1], "did not take effect once");
        expect(source.acked.contains(id), "was never acknowledged");
        let identity = Job::identity(&job.orders(), id);
        let detail = inbox.message(identity.clone()).await;
        let detail = detail.expect("the inbox answers");
        expect(detail.is_some(), "is not known");
        if let Some(detail) = detail {
            expect(is_whole(job, id, &detail), "is not as it should be");
            let again = detail.entry.generation > 0;
            expect(again || !source.replayed.contains(id), "was not replayed");
        }
        let record = store.look_up_one(identity).await.expect("an answer");
        let settled = |r: &semel_core::Record| matches!(r.state, semel_core::State::Settled(_));
        let settled = record.is_some_and(|record| settled(&record));
        expect(settled, "has no settled record");
    }
}

fn is_whole(job: &Job, id: &str, detail: &Detail) -> bool {
    detail.entry.state == State::Completed && detail.message == Some(job.message(id))
}

/// How many intents each message has, whatever became of them.
async fn intents(job: &Job, (_, inbox): &Opened) -> BTreeMap<String, usize> {
    let (mut found, mut before) = (BTreeMap::new(), None);
    loop {
        let query = Query {
            consumer: Some(job.mails().consumer),
            before,
            ..Query::default()
        };
        let page = inbox.list_messages(query).await.expect("the inbox answers");
        for entry in page.entries {
            let key = entry.identity.key().as_str();
            let (id, _fence) = key.split_once('~').expect("intents name their claim");
            *found.entry(id.to_owned()).or_default() += 1;
        }
        before = page.next;
        if before.is_none() {
            return found;
        }
    }
}
