//! Claims: granted in one statement where the operation is absent, answered from it where nothing changes,
//! decided under the row's lock otherwise.

use std::collections::HashMap;
use std::sync::Arc;

use semel_core::protocol::{self, Change};
use semel_core::record::{Claim, Lease};
use semel_core::store::batcher::{Follow, Item};
use semel_core::store::{ClaimAnswer, ClaimRequest, Takeover};
use semel_core::{Error, Fence, Identity, Kind, Record, State, Timestamp};
use uuid::Uuid;

use crate::engine::{Attempt, Engine, identities};
use crate::link::{Failure, Link};
use crate::rows::{Stored, digest, fence_of, sql_ms};
use crate::session::Session;
use crate::sql::RECORD_COLUMNS;
use crate::value::{Row, Value};

/// How often a batch looks again for rows that others commit or sweep at the same moment.
const ROUNDS_MAX: usize = 10;

/// A claim that waits for a round trip.
#[derive(Debug, Clone)]
pub(crate) struct ClaimItem {
    pub(crate) request: ClaimRequest,
    /// By this the claimer knows its claim again when the answer was lost.
    pub(crate) nonce: i64,
}

impl ClaimItem {
    pub(crate) fn new(request: ClaimRequest) -> Self {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        let nonce = i64::from_le_bytes((high ^ low).to_le_bytes());
        Self { request, nonce }
    }

    pub(crate) const fn identity(&self) -> &Identity {
        &self.request.identity
    }

    /// Whether `stored` is a claim that was granted to this very item.
    pub(crate) const fn is_own(&self, stored: &Stored) -> bool {
        stored.nonce == self.nonce
    }
}

impl Item for ClaimItem {
    type Answer = ClaimAnswer;

    fn identity(&self) -> &Identity {
        self.identity()
    }

    /// Whoever asks for the same at the same time sees the first one running, or the same answer.
    fn follow(&self, later: &Self) -> Option<Follow<ClaimAnswer>> {
        let (first, later) = (&self.request, &later.request);
        if first.fingerprint != later.fingerprint || first.takeover != later.takeover {
            return None;
        }
        let lease_left = first.lease.get();
        Some(Box::new(move |answer| match answer {
            ClaimAnswer::Granted(lease) => ClaimAnswer::Running {
                fence: lease.claim.fence,
                lease_left,
            },
            other => other.clone(),
        }))
    }
}

/// One try of a batch of claims.
pub(crate) struct Claims;

impl Attempt<ClaimItem, ClaimAnswer> for Claims {
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[ClaimItem],
    ) -> Result<Vec<ClaimAnswer>, Failure> {
        let mut answers: Vec<Option<ClaimAnswer>> = items.iter().map(|_| None).collect();
        for _ in 0..ROUNDS_MAX {
            let open: Vec<usize> = (0..items.len()).filter(|i| answers[*i].is_none()).collect();
            if open.is_empty() {
                return Ok(answers.into_iter().flatten().collect());
            }
            let asked: Vec<&ClaimItem> = open.iter().map(|i| &items[*i]).collect();
            let judged = ask(engine, link, &asked).await?;
            let mut unusual = Vec::new();
            for (i, judged) in open.into_iter().zip(judged) {
                match judged {
                    Judged::Answer(answer) => answers[i] = Some(answer),
                    Judged::Unusual => unusual.push(i),
                    Judged::Raced => {}
                }
            }
            if !unusual.is_empty() {
                let asked: Vec<&ClaimItem> = unusual.iter().map(|i| &items[*i]).collect();
                let decided = decide(engine, link, &asked).await?;
                for (i, answer) in unusual.into_iter().zip(decided) {
                    answers[i] = answer;
                }
            }
        }
        let message = "postgres, a record changes faster than it can be looked at";
        Err(Error::new(Kind::Unavailable, message).into())
    }
}

/// What one look says about a claim.
enum Judged {
    /// This.
    Answer(ClaimAnswer),
    /// It has to be decided under the row's lock.
    Unusual,
    /// It went away between two looks.
    Raced,
}

/// Grants what is absent, and looks at what is not.
async fn ask(
    engine: &Engine,
    link: &mut Link,
    items: &[&ClaimItem],
) -> Result<Vec<Judged>, Failure> {
    let values = claim_values(items);
    let rows = match items.len() {
        1 => {
            link.ask_alone(&engine.sql.claim_alone, &values.map(Value::alone))
                .await?
        }
        _ => link.ask_alone(&engine.sql.claim, &values).await?,
    };
    let mut judged = HashMap::with_capacity(items.len());
    for row in &rows {
        engine.heard(Timestamp::from_millis(row.number(2)?));
        judged.insert(row.digest(0)?, Granted::of(row)?);
    }
    let granted = |item: &ClaimItem| judged.get(&digest(item.identity()));
    let mut there = match judged.len() == items.len() {
        true => HashMap::new(),
        false => {
            let rest = items.iter().filter(|item| granted(item).is_none());
            look(engine, link, rest.copied()).await?
        }
    };
    let judged = items.iter().map(|item| match granted(item) {
        Some(granted) => Judged::Answer(granted.answer(item)),
        None => there
            .remove(&digest(item.identity()))
            .unwrap_or(Judged::Raced),
    });
    Ok(judged.collect())
}

/// A claim that was granted at once.
pub(crate) struct Granted {
    fence: Fence,
    until: Timestamp,
}

impl Granted {
    pub(crate) fn of(row: &Row) -> semel_core::Result<Self> {
        Ok(Self {
            fence: fence_of(row.number(1)?),
            until: Timestamp::from_millis(row.number(3)?),
        })
    }

    pub(crate) fn answer(&self, item: &ClaimItem) -> ClaimAnswer {
        ClaimAnswer::Granted(Lease {
            claim: Claim {
                identity: item.identity().clone(),
                fence: self.fence,
            },
            attempt: 1,
            until: self.until,
        })
    }
}

/// Looks at what is there, without a lock.
async fn look(
    engine: &Engine,
    link: &mut Link,
    items: impl Iterator<Item = &ClaimItem>,
) -> Result<HashMap<Uuid, Judged>, Failure> {
    let asked: HashMap<Uuid, &ClaimItem> =
        items.map(|item| (digest(item.identity()), item)).collect();
    let digests = Value::Uuids(asked.keys().copied().collect());
    let rows = link.ask(&engine.sql.load, &[digests]).await?;
    let mut judged = HashMap::with_capacity(rows.len());
    for row in &rows {
        let Some(item) = asked.get(&row.digest(0)?) else {
            continue;
        };
        let stored = Stored::of(row, Some(item.identity()))?;
        let now = Timestamp::from_millis(row.number(RECORD_COLUMNS)?);
        engine.heard(now);
        judged.insert(stored.digest, judge(item, stored, now));
    }
    Ok(judged)
}

/// Judges by what was seen. Only what changes nothing and leaves no event can be answered without a lock.
fn judge(item: &ClaimItem, stored: Stored, now: Timestamp) -> Judged {
    let own = item.is_own(&stored);
    let Some(record) = stored.record else {
        return Judged::Unusual;
    };
    match &record.state {
        State::Running { lease_until } if own && *lease_until > now => {
            return Judged::Answer(ClaimAnswer::Granted(lease_of(&record, *lease_until)));
        }
        State::Settled(settled)
            if settled.expires_at > now && record.fingerprint == item.request.fingerprint =>
        {
            return Judged::Answer(ClaimAnswer::Settled(Arc::new(record)));
        }
        State::Running { .. } | State::Unknown { .. } | State::Settled(_) => {}
    }
    let step = protocol::claim(Some(&record), &item.request, Fence::new(0), now);
    match step.change == Change::None && step.events.is_empty() {
        true => Judged::Answer(step.answer),
        false => Judged::Unusual,
    }
}

fn lease_of(record: &Record, until: Timestamp) -> Lease {
    Lease {
        claim: Claim {
            identity: record.identity.clone(),
            fence: record.fence,
        },
        attempt: record.attempt,
        until,
    }
}

/// Decides under the rows' locks. `None` for an operation whose row is gone.
async fn decide(
    engine: &Engine,
    link: &mut Link,
    items: &[&ClaimItem],
) -> Result<Vec<Option<ClaimAnswer>>, Failure> {
    link.begin().await?;
    let mut session = Session::new(link, &engine.sql);
    let decided = decide_in(&mut session, items).await;
    let ended = std::mem::take(&mut session.ended);
    let decided = link.end(decided).await?;
    engine.ended(&ended);
    Ok(decided)
}

async fn decide_in(
    session: &mut Session<'_, Link>,
    items: &[&ClaimItem],
) -> Result<Vec<Option<ClaimAnswer>>, Failure> {
    let locked = session
        .lock(&identities(items, |item| item.identity()))
        .await?;
    let mut answers = Vec::with_capacity(items.len());
    for item in items {
        answers.push(match locked.get(&digest(item.identity())) {
            Some(stored) => Some(decide_one(session, item, stored).await?),
            None => None,
        });
    }
    Ok(answers)
}

async fn decide_one(
    session: &mut Session<'_, Link>,
    item: &ClaimItem,
    stored: &Stored,
) -> Result<ClaimAnswer, Failure> {
    let (now, next) = session.draw().await?;
    let mut request = item.request.clone();
    if item.is_own(stored) {
        // An earlier try was granted and its answer was lost, so nothing can have run under it.
        if let Some(record) = &stored.record
            && let State::Running { lease_until } = record.state
            && lease_until > now
        {
            return Ok(ClaimAnswer::Granted(lease_of(record, lease_until)));
        }
        request.takeover = Takeover::Of(stored.fence);
    }
    let step = protocol::claim(stored.record.as_ref(), &request, next, now);
    session
        .finish(item.identity(), Some(stored), step, item.nonce, now)
        .await
}

pub(crate) fn claim_values(items: &[&ClaimItem]) -> [Value; 8] {
    let text = |of: fn(&Identity) -> &str| Value::texts(items.iter().map(|i| of(i.identity())));
    let ints = |of: &dyn Fn(&ClaimItem) -> i64| {
        Value::Ints(items.iter().map(|item| Some(of(item))).collect())
    };
    let prints = items.iter().map(|item| {
        let print = item.request.fingerprint;
        Some(bytes::Bytes::copy_from_slice(print.as_bytes()))
    });
    [
        Value::Uuids(items.iter().map(|item| digest(item.identity())).collect()),
        text(|identity| identity.tenant().as_str()),
        text(|identity| identity.scope().name()),
        ints(&|item| i64::from(item.identity().scope().version())),
        text(|identity| identity.key().as_str()),
        Value::ByteStrings(prints.collect()),
        ints(&|item| sql_ms(item.request.lease.get())),
        ints(&|item| item.nonce),
    ]
}
