//! Takes over what was pending for too long, and keeps what waits in the buffer.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use semel_core::Result;
use semel_inbox::source::{OPEN_MAX, Settle, Settled};
use tokio::time::{Instant, sleep_until};

use super::group::Group;
use super::{PAUSES, longer};
use crate::entry::{self, Entry, Epoch, Found};
use crate::error::odd;
use crate::link::{Script, arg};

/// The most entries that are taken over at once.
const CLAIM_MAX: usize = 200;
/// Where a pass begins and ends.
const START: &str = "0-0";

static CLAIM: Script = Script::new(include_str!("../../scripts/claim.lua"));

/// Works until it is aborted.
pub(super) async fn run(group: Arc<Group>) {
    let every = group.reading.idle / 3;
    let mut cursor = START.to_owned();
    let mut keep_at = Instant::now() + every;
    let mut claim_at = Instant::now();
    // Whether a pass waits for room, or for a reader that wants something.
    let mut waits = false;
    // After a failure, what was returned is still due, and must not be asked for without a pause.
    let (mut retry_at, mut pause) = (claim_at, PAUSES.0);
    loop {
        let returned_at = group.claim_at().filter(|_| !waits).unwrap_or(claim_at);
        let returned_at = returned_at.max(retry_at);
        let wake_at = keep_at.min(claim_at).min(returned_at);
        tokio::select! {
            () = sleep_until(wake_at) => {}
            () = group.hurry.notified() => continue,
            _ = group.buffer.has_room(OPEN_MAX), if waits => {
                waits = false;
                claim_at = Instant::now();
                continue;
            }
        }
        let now = Instant::now();
        if now >= keep_at {
            keep_at = now + every;
            failed(&group, keep(&group).await);
        }
        if now >= claim_at.min(returned_at) {
            claim_at = now + every;
            match claim(&group, &mut cursor).await {
                Ok(is_whole) => {
                    pause = PAUSES.0;
                    waits = !is_whole;
                    if is_whole {
                        group.claims(now);
                    }
                }
                error => {
                    retry_at = Instant::now() + pause;
                    pause = longer(pause);
                    failed(&group, error.map(drop));
                }
            }
        }
    }
}

/// The reader meets the same errors, and `next` reports them.
fn failed(group: &Group, done: Result<()>) {
    if let Err(error) = done {
        let source = &group.name;
        tracing::debug!(source, %error, "pending entries cannot be taken over or kept");
    }
}

/// Extends what waits in the buffer, and drops what is another reader's by now. What no call has asked for during half a term is given back.
async fn keep(group: &Group) -> Result<()> {
    if !group.buffer.is_wanted_now() {
        group.check().await?;
    }
    let entries = group.buffer.waiting();
    let Some(epoch) = entries.first().map(|entry| entry.epoch.clone()) else {
        return Ok(());
    };
    let is_wanted = group.buffer.is_wanted(group.reading.idle / 2);
    let how = match is_wanted {
        true => Settle::Extend,
        false => Settle::Back(Duration::ZERO),
    };
    if !is_wanted {
        drop_all(group, &epoch, entries.iter().collect());
    }
    let items: Vec<_> = entries.iter().map(|entry| Some((entry, how))).collect();
    let settled = group.settle_all(&items).await?;
    let gone = entries.iter().zip(settled);
    let gone = gone.filter(|(_, settled)| *settled == Settled::Gone);
    drop_all(group, &epoch, gone.map(|(entry, _)| entry).collect());
    Ok(())
}

/// Drops those of an epoch that are another reader's by now.
fn drop_all(group: &Group, epoch: &Epoch, gone: Vec<&Entry>) {
    let gone: HashSet<&str> = gone.iter().map(|entry| entry.id.as_str()).collect();
    let is_gone = |entry: &Entry| *entry.epoch == *epoch && gone.contains(entry.id.as_str());
    group.buffer.forget(is_gone);
}

/// Goes through what is pending, from where the last pass stopped; whether it came to the end before there was no
/// more room, or no reader that wants anything.
async fn claim(group: &Group, cursor: &mut String) -> Result<bool> {
    loop {
        let room = group.buffer.room(OPEN_MAX).min(CLAIM_MAX);
        if room == 0 || !group.buffer.is_wanted_now() {
            return Ok(false);
        }
        let epoch = group.epoch().await?;
        let args = [
            arg(&group.reading.group),
            arg(&group.me),
            arg(&epoch.returned),
            arg(group.reading.idle.as_millis()),
            arg(&cursor),
            arg(room),
        ];
        let answer = group
            .calls
            .run("taking over pending entries", &CLAIM, &args)
            .await?;
        let answer = entry::list(answer).ok_or_else(|| odd("the pending entries"))?;
        if answer.is_empty() {
            group.lose(&epoch);
            START.clone_into(cursor);
            return Ok(true);
        }
        let (next, lost, found) = claimed(answer).ok_or_else(|| odd("the pending entries"))?;
        group.lost(lost);
        let found: Vec<Found> = found
            .into_iter()
            .map(entry::claimed)
            .collect::<Result<_>>()?;
        if !found.is_empty() {
            let (source, count) = (&group.name, found.len());
            tracing::debug!(
                source,
                count,
                "took over entries that were pending for too long"
            );
            group.deliver(&epoch, found);
        }
        *cursor = next;
        if cursor == START {
            return Ok(true);
        }
    }
}

fn claimed(answer: Vec<Value>) -> Option<(String, u64, Vec<Value>)> {
    let mut parts = answer.into_iter();
    let cursor = entry::text(parts.next()?)?;
    let lost = entry::number(&parts.next()?)?;
    Some((cursor, lost, entry::list(parts.next()?)?))
}
