//! Claims: granted in one statement where the operation is absent, answered from a look without a lock where nothing
//! changes, decided under the row's lock otherwise. A replay is never more than a look, also while another transaction holds the row.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use semel_core::protocol::{self, Change};
use semel_core::record::{Claim, Lease};
use semel_core::store::batcher::{Follow, Item};
use semel_core::store::remote::{self, Nonce};
use semel_core::store::{ClaimAnswer, ClaimRequest, Takeover};
use semel_core::{Error, Fence, Identity, Kind, Record, State, Timestamp};
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::connection::{Failure, Link, Wait};
use crate::engine::{Engine, Tried, Verb, identities};
use crate::records::{Stored, digest, fence_of, sql_ms};
use crate::session::Session;
use crate::sql::RECORD_COLUMNS;
use crate::value::{Row, Value};

/// How often a batch looks again for rows that others commit or sweep at the same moment.
const ROUNDS_MAX: usize = 10;
/// How often a record is found locked before its caller waits for it apart from the others.
const SKIPS_MAX: usize = 2;

/// A claim that waits for a round trip.
#[derive(Debug, Clone)]
pub(crate) struct ClaimItem {
    pub(crate) request: ClaimRequest,
    /// By this the claimer knows its claim again when the answer was lost.
    pub(crate) nonce: Nonce,
    /// Whether some try was lost, so that it may have been granted. Copies of an item share it.
    lost: Arc<AtomicBool>,
}

impl ClaimItem {
    pub(crate) fn new(request: ClaimRequest) -> Self {
        let nonce = request.nonce.unwrap_or_else(Nonce::fresh);
        let lost = Arc::default();
        Self {
            request,
            nonce,
            lost,
        }
    }

    /// Takes note of a failure, and says whether some try was lost.
    pub(crate) fn is_lost(&self, failure: &remote::Failure) -> bool {
        self.lost.fetch_or(failure.lost, Ordering::Relaxed) || failure.lost
    }

    pub(crate) const fn identity(&self) -> &Identity {
        &self.request.identity
    }

    /// Whether the caller named the claim: it may have heard of it long ago, and can ask for it again.
    pub(crate) const fn is_named(&self) -> bool {
        self.request.nonce.is_some()
    }

    /// Whether `stored` is a claim that was granted to this very item, or under the name that it brings.
    pub(crate) fn is_own(&self, stored: &Stored) -> bool {
        let same = |record: &Record| record.fingerprint == self.request.fingerprint;
        stored.nonce == self.nonce.to_i64() && stored.record.as_ref().is_none_or(same)
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
        let is_same = first.nonce.is_some() && first.nonce == later.nonce;
        Some(Box::new(move |answer| match answer {
            answer @ ClaimAnswer::Granted(_) if is_same => answer.clone(),
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

impl Verb<ClaimItem, ClaimAnswer> for Claims {
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[&ClaimItem],
        wait: Wait,
    ) -> Tried<ClaimAnswer> {
        let mut tried = Tried::new(items.len());
        let mut skips = 0;
        for _ in 0..ROUNDS_MAX {
            let open = tried.open();
            if open.is_empty() {
                return tried;
            }
            match round(engine, link, items, &mut tried, wait).await {
                Ok(Skipped(true)) => skips += 1,
                Ok(Skipped(false)) => {}
                Err(failure) => return tried.failed(failure),
            }
            if skips >= SKIPS_MAX {
                let message = "postgres, another transaction holds the record";
                return tried.failed(Error::new(Kind::Locked, message));
            }
        }
        let message = "postgres, a record changes faster than it can be looked at";
        tried.failed(Error::new(Kind::Unavailable, message))
    }
}

/// Whether a record had to be decided about and was locked.
struct Skipped(bool);

/// Grants what is absent, answers what needs no change, and decides about the rest.
async fn round(
    engine: &Engine,
    link: &mut Link,
    items: &[&ClaimItem],
    tried: &mut Tried<ClaimAnswer>,
    wait: Wait,
) -> Result<Skipped, Failure> {
    let chosen =
        |places: &[usize]| -> Vec<&ClaimItem> { places.iter().map(|i| items[*i]).collect() };
    let open = tried.open();
    let granted = grant(engine, link, &chosen(&open), wait).await;
    let granted = match granted {
        Ok(granted) => granted,
        Err(failure) if needs_a_write(&failure) => {
            // What is there already can be answered all the same.
            answer_seen(engine, link, items, tried).await?;
            return Err(failure);
        }
        Err(failure) => return Err(failure),
    };
    for (place, answer) in open.into_iter().zip(granted) {
        tried.answers[place] = answer;
    }
    let unusual = answer_seen(engine, link, items, tried).await?;
    if unusual.is_empty() {
        return Ok(Skipped(false));
    }
    let decided = decide(engine, link, &chosen(&unusual), wait).await?;
    let skipped = wait == Wait::Briefly && decided.iter().any(Option::is_none);
    for (place, answer) in unusual.into_iter().zip(decided) {
        tried.answers[place] = answer;
    }
    Ok(Skipped(skipped))
}

/// Whether a failure concerns only what has to be written: a lock that is in the way, a server that takes no writes.
fn needs_a_write(failure: &Failure) -> bool {
    let states = [
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::DISK_FULL,
    ];
    match failure {
        Failure::Refused(error) => error.code().is_some_and(|state| states.contains(state)),
        Failure::Lost(_) | Failure::Failed(_) => false,
    }
}

/// Grants what is absent; `None` for the rest.
async fn grant(
    engine: &Engine,
    link: &mut Link,
    items: &[&ClaimItem],
    wait: Wait,
) -> Result<Vec<Option<ClaimAnswer>>, Failure> {
    let values = claim_values(items);
    let sql = &engine.sql;
    let rows = match (items.len(), wait) {
        (1, Wait::Briefly) => {
            link.ask_alone(&sql.claim_alone, &values.map(Value::alone))
                .await?
        }
        (1, Wait::Patiently) => {
            link.ask_alone(&sql.claim_in, &values.map(Value::alone))
                .await?
        }
        _ => link.ask_alone(&sql.claim, &values).await?,
    };
    let mut granted = HashMap::with_capacity(rows.len());
    for row in &rows {
        engine.heard(Timestamp::from_millis(row.number(2)?));
        granted.insert(row.digest(0)?, Granted::of(row)?);
    }
    let answer = |item: &&ClaimItem| {
        let granted = granted.get(&digest(item.identity()))?;
        Some(granted.answer(item))
    };
    Ok(items.iter().map(answer).collect())
}

/// Looks at what has no answer, without a lock, and answers what needs no change. Returns what has to be decided
/// under its lock; what went away between two looks is neither.
async fn answer_seen(
    engine: &Engine,
    link: &mut Link,
    items: &[&ClaimItem],
    tried: &mut Tried<ClaimAnswer>,
) -> Result<Vec<usize>, Failure> {
    let open = tried.open();
    if open.is_empty() {
        return Ok(open);
    }
    let asked = open.iter().map(|place| items[*place]);
    let mut seen = look(engine, link, asked).await?;
    let mut unusual = Vec::new();
    for place in open {
        match seen.remove(&digest(items[place].identity())) {
            Some(Judged::Answer(answer)) => tried.answers[place] = Some(answer),
            Some(Judged::Unusual) => unusual.push(place),
            None => {}
        }
    }
    Ok(unusual)
}

/// What one look says about a claim.
enum Judged {
    /// This.
    Answer(ClaimAnswer),
    /// It has to be decided under the row's lock.
    Unusual,
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
            return Judged::Answer(ClaimAnswer::Granted(protocol::lease_of(
                &record,
                *lease_until,
            )));
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

/// Decides under the rows' locks. `None` for an operation whose row is gone, or held by another transaction if that must
/// not be waited for.
async fn decide(
    engine: &Engine,
    link: &mut Link,
    items: &[&ClaimItem],
    wait: Wait,
) -> Result<Vec<Option<ClaimAnswer>>, Failure> {
    link.begin_for(wait).await?;
    let mut session = Session::new(link, &engine.sql);
    let decided = decide_in(&mut session, items, wait).await;
    let ended = std::mem::take(&mut session.ended);
    let decided = link.end(decided).await?;
    engine.ended(&ended);
    Ok(decided)
}

async fn decide_in(
    session: &mut Session<'_, Link>,
    items: &[&ClaimItem],
    wait: Wait,
) -> Result<Vec<Option<ClaimAnswer>>, Failure> {
    let identities = identities(items, |item| item.identity());
    let locked = match wait {
        Wait::Briefly => session.lock_free(&identities).await?,
        Wait::Patiently => session.lock(&identities).await?,
    };
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
    let (now, next) = session.draw(stored).await?;
    let mut request = item.request.clone();
    if item.is_own(stored) {
        if let Some(record) = &stored.record
            && let State::Running { lease_until } = record.state
            && lease_until > now
        {
            return Ok(ClaimAnswer::Granted(protocol::lease_of(
                record,
                lease_until,
            )));
        }
        // An earlier try was granted and its answer was lost, so nothing can have run under it; of a claim that the
        // caller named that cannot be said.
        if !item.is_named() {
            request.takeover = Takeover::Of(stored.fence);
        }
    }
    let step = protocol::claim(stored.record.as_ref(), &request, next, now);
    session
        .finish(
            item.identity(),
            Some(stored),
            step,
            item.nonce.to_i64(),
            now,
        )
        .await
}

pub(crate) fn claim_values(items: &[&ClaimItem]) -> [Value; 9] {
    let text = |of: fn(&Identity) -> &str| Value::texts(items.iter().map(|i| of(i.identity())));
    let ints = |of: &dyn Fn(&ClaimItem) -> i64| {
        Value::Ints(items.iter().map(|item| Some(of(item))).collect())
    };
    let prints = items.iter().map(|item| {
        let print = item.request.fingerprint;
        Some(bytes::Bytes::copy_from_slice(print.as_bytes()))
    });
    let abouts = items.iter().map(|item| item.request.about.as_ref());
    let abouts = abouts.map(|about| about.map(|about| about.as_str().to_owned()));
    [
        Value::Uuids(items.iter().map(|item| digest(item.identity())).collect()),
        text(|identity| identity.tenant().as_str()),
        text(|identity| identity.scope().name()),
        ints(&|item| i64::from(item.identity().scope().version())),
        text(|identity| identity.key().as_str()),
        Value::ByteStrings(prints.collect()),
        ints(&|item| sql_ms(item.request.lease.get())),
        ints(&|item| item.nonce.to_i64()),
        Value::Texts(abouts.collect()),
    ]
}
