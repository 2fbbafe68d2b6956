//! Answers to deliveries, ten per call, each with a result of its own.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sqs::types::{
    BatchResultErrorEntry, ChangeMessageVisibilityBatchRequestEntry as Change,
    DeleteMessageBatchRequestEntry as Delete,
};
use futures_util::stream::{self, StreamExt};
use semel_core::Result;
use semel_inbox::source::{Handle, Settle, Settled};

use super::Reader;
use super::receive::Receipt;
use crate::error::{failed, is_gone};
use crate::url::VISIBILITY_MAX;

/// The most answers in one call.
const CALL_MAX: usize = 10;
/// The most calls at the same time.
const CALLS_MAX: usize = 16;

/// An answer, with its place among all.
type Item<'a> = (usize, &'a Receipt, Settle);

impl Reader {
    pub(super) async fn settle(&self, items: Vec<(Handle, Settle)>) -> Result<Vec<Settled>> {
        let count = items.len();
        let items = items.iter();
        let mut items: Vec<_> = items
            .map(|(handle, how)| handle.get::<Receipt>().map(|receipt| (receipt, *how)))
            .collect();
        let behind = self.take_behind(&items);
        items.extend(behind.iter().map(|(receipt, how)| Some((receipt, *how))));
        let mut settled = self.settle_all(&items).await?;
        settled.truncate(count);
        Ok(settled)
    }

    /// Takes from the buffer what waits there behind a message of its group that is given back: it must not overtake that one.
    fn take_behind(&self, items: &[Option<(&Receipt, Settle)>]) -> Vec<(Receipt, Settle)> {
        let mut delays: HashMap<&str, Settle> = HashMap::new();
        for (receipt, how) in items.iter().flatten() {
            if let (Settle::Back(_), Some(group)) = (how, &receipt.group) {
                delays.insert(group, *how);
            }
        }
        if delays.is_empty() {
            return Vec::new();
        }
        let delay = |receipt: &Receipt| delays.get(receipt.group.as_deref()?).copied();
        let waiting = self.buffer.waiting().into_iter();
        let behind = waiting.filter_map(|receipt| delay(&receipt).map(|how| (receipt, how)));
        let behind: Vec<_> = behind.collect();
        self.buffer.forget(|receipt| delay(receipt).is_some());
        behind
    }

    /// The same; what is no delivery of this source is gone.
    pub(super) async fn settle_all(
        &self,
        items: &[Option<(&Receipt, Settle)>],
    ) -> Result<Vec<Settled>> {
        let items_at = items.iter().enumerate();
        let items_at =
            items_at.filter_map(|(at, item)| item.map(|(receipt, how)| (at, receipt, how)));
        let (acks, changes): (Vec<Item<'_>>, Vec<Item<'_>>) =
            items_at.partition(|(.., how)| *how == Settle::Ack);
        let acks = acks.chunks(CALL_MAX).map(|chunk| (true, chunk.to_vec()));
        let changes = changes
            .chunks(CALL_MAX)
            .map(|chunk| (false, chunk.to_vec()));
        let calls: Vec<_> = acks.chain(changes).collect();
        let count = calls.len();
        let calls = calls
            .into_iter()
            .map(|(is_ack, chunk)| self.call(is_ack, chunk));
        // Boxed, so that the compiler sees through the stream of borrowing futures.
        let calls = calls.map(|call| -> futures_util::future::BoxFuture<'_, _> { Box::pin(call) });
        let calls: Vec<_> = calls.collect();
        let mut answers = stream::iter(calls).buffer_unordered(CALLS_MAX);
        let mut settled = vec![Settled::Gone; items.len()];
        let mut errors = Vec::new();
        while let Some((chunk, answer)) = answers.next().await {
            match answer {
                Ok(found) => found.into_iter().for_each(|(at, how)| settled[at] = how),
                Err(error) => {
                    chunk.iter().for_each(|at| settled[*at] = Settled::Later);
                    errors.push(error);
                }
            }
        }
        match errors.pop() {
            // If nothing at all was answered, or people must act, the caller learns why.
            Some(error) if errors.len() + 1 == count || !error.is_retryable() => Err(error),
            _ => Ok(settled),
        }
    }

    /// One call: the places that it is about, and what became of each.
    async fn call(
        &self,
        is_ack: bool,
        chunk: Vec<Item<'_>>,
    ) -> (Vec<usize>, Result<Vec<(usize, Settled)>>) {
        let places = chunk.iter().map(|(at, ..)| *at).collect();
        let failed = match is_ack {
            true => self.delete(&chunk).await,
            false => self.change(&chunk).await,
        };
        let settled = failed.map(|failed| {
            let failed: HashMap<String, Settled> = failed.into_iter().collect();
            let settled = chunk.iter().enumerate().map(|(number, (at, ..))| {
                let settled = failed.get(&number.to_string()).copied();
                (*at, settled.unwrap_or(Settled::Done))
            });
            settled.collect()
        });
        (places, settled)
    }

    async fn delete(&self, chunk: &[Item<'_>]) -> Result<Vec<(String, Settled)>> {
        let connected = self.queue.connected().await?;
        let entries = chunk.iter().enumerate().map(|(number, (_, receipt, _))| {
            let entry = Delete::builder()
                .id(number.to_string())
                .receipt_handle(&receipt.handle);
            entry.build().expect("id and receipt are set")
        });
        let answer = connected
            .client
            .delete_message_batch()
            .queue_url(&connected.url)
            .set_entries(Some(entries.collect()))
            .send()
            .await
            .map_err(|error| failed("deleting messages", error).error)?;
        Ok(answer.failed().iter().map(entry_failed).collect())
    }

    async fn change(&self, chunk: &[Item<'_>]) -> Result<Vec<(String, Settled)>> {
        let connected = self.queue.connected().await?;
        let entries = chunk.iter().enumerate().map(|(number, (_, receipt, how))| {
            let entry = Change::builder()
                .id(number.to_string())
                .receipt_handle(&receipt.handle)
                .visibility_timeout(self.visibility(receipt, *how));
            entry.build().expect("id and receipt are set")
        });
        let answer = connected
            .client
            .change_message_visibility_batch()
            .queue_url(&connected.url)
            .set_entries(Some(entries.collect()))
            .send()
            .await
            .map_err(|error| failed("changing the visibility of messages", error).error)?;
        Ok(answer.failed().iter().map(entry_failed).collect())
    }

    /// For how long a delivery can be extended now: a term, or what is left of its longest time.
    pub(super) fn extension(&self, receipt: &Receipt) -> Duration {
        extension(self.reading.visibility, receipt.asked.elapsed())
    }

    /// In seconds, as the service counts; a delay that is not whole is a little longer.
    fn visibility(&self, receipt: &Receipt, how: Settle) -> i32 {
        let time = match how {
            Settle::Back(delay) => delay.min(left(receipt.asked.elapsed())),
            _ => self.extension(receipt),
        };
        let more = u64::from(time.subsec_nanos() > 0);
        i32::try_from(Duration::from_secs(time.as_secs() + more).as_secs()).unwrap_or(i32::MAX)
    }
}

/// What the service said about one entry: a receipt that it does not take any more will not be taken later.
fn entry_failed(entry: &BatchResultErrorEntry) -> (String, Settled) {
    let settled = match is_gone(entry.code()) {
        true => Settled::Gone,
        false => Settled::Later,
    };
    (entry.id().to_owned(), settled)
}

/// The service refuses to extend a delivery beyond its longest time, counted from when it was asked for. Nothing would give it back at once.
fn extension(term: Duration, age: Duration) -> Duration {
    term.min(left(age)).max(Duration::from_secs(1))
}

/// What is left of a delivery's longest time, in whole seconds.
fn left(age: Duration) -> Duration {
    Duration::from_secs(VISIBILITY_MAX.saturating_sub(age).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extension_ends_with_the_longest_time_of_a_delivery() {
        let hour = Duration::from_secs(60 * 60);
        for (age, expected) in [
            (Duration::ZERO, hour * 5),
            (hour * 7, hour * 5),
            (
                hour * 9 + Duration::from_millis(1),
                hour * 3 - Duration::from_secs(1),
            ),
            (hour * 13, Duration::from_secs(1)),
        ] {
            assert_eq!(extension(hour * 5, age), expected, "{age:?}");
        }
    }
}
