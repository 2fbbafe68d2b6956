//! What Redis says about the stream and the group.

use redis::Value;
use semel_core::Result;
use semel_inbox::source::{Facts, Retained};

use crate::entry;
use crate::error::odd;
use crate::source::Group;

/// Asks the server.
pub(crate) async fn read(group: &Group) -> Result<Facts> {
    let about = |what: &str| {
        let mut command = redis::cmd("XINFO");
        command.arg(what).arg(&group.address.stream).take()
    };
    let doing = "asking about the stream";
    let stream = group.calls.ask(doing, about("STREAM"));
    let groups = group.calls.ask(doing, about("GROUPS"));
    // A user may lack the permission, which is no reason to know nothing.
    let memory = group
        .calls
        .ask(doing, redis::cmd("INFO").arg("memory").take());
    let (stream, groups, memory) = tokio::join!(stream, groups, memory);
    if let Err(error) = &stream
        && group.reading.create
        && error.to_string().contains("no such key")
    {
        let mut facts = Facts::default();
        let warning = "the stream does not exist yet; it is created when it is read";
        facts.warnings.push(warning.to_owned());
        return Ok(facts);
    }
    let stream = Named::of(stream?).ok_or_else(|| odd("the answer to XINFO STREAM"))?;
    let groups = entry::list(groups?).unwrap_or_default();
    let mine = groups.into_iter().filter_map(Named::of);
    let mine = mine
        .filter(|found| found.text("name").as_deref() == Some(&group.reading.group))
        .last();
    let memory = memory.ok().and_then(entry::text).unwrap_or_default();
    Ok(weigh(group.lost_count(), &stream, mine.as_ref(), &memory))
}

fn weigh(lost: u64, stream: &Named, group: Option<&Named>, memory: &str) -> Facts {
    let mut facts = Facts::default();
    let length = stream.number("length").unwrap_or_default();
    let added = stream.number("entries-added");
    let removed = added.map_or(0, |added| added.saturating_sub(length));
    facts.retained = (removed == 0).then_some(Retained::Forever);
    let mut warnings = Vec::new();
    if lost > 0 {
        warnings.push(format!(
            "{lost} entries were deleted or trimmed before they were acknowledged: their messages are lost"
        ));
    }
    if let Some(group) = group {
        facts.lag = group.number("lag");
        facts.held = group.number("pending");
        let read = group.number("entries-read");
        let unread = added
            .zip(read)
            .map(|(added, read)| added.saturating_sub(read));
        match unread.map(|unread| unread.saturating_sub(length)) {
            Some(missed) if missed > 0 => warnings.push(format!(
                "{missed} entries were deleted or trimmed before this group read them: their messages are lost"
            )),
            _ if removed > 0 => warnings.push(format!(
                "{removed} entries were deleted or trimmed from the stream: what is trimmed before it is acknowledged is lost, so trim \
                 only behind the slowest group"
            )),
            _ => {}
        }
        if facts.lag.is_none() {
            warnings.push(
                "Redis does not know the lag: entries were deleted from the middle of the stream, or the group began there".to_owned(),
            );
        }
    }
    let mut policy = memory
        .lines()
        .filter_map(|line| line.strip_prefix("maxmemory_policy:"));
    if let Some(policy) = policy
        .next()
        .map(str::trim)
        .filter(|policy| policy.starts_with("allkeys"))
    {
        warnings.push(format!(
            "the server may evict the whole stream when its memory is full (maxmemory-policy {policy}); noeviction is safe"
        ));
    }
    facts.warnings = warnings;
    facts
}

/// An answer of names and values.
struct Named(Vec<(String, Value)>);

impl Named {
    fn of(answer: Value) -> Option<Self> {
        let mut values = entry::list(answer)?.into_iter();
        let mut pairs = Vec::new();
        while let (Some(name), Some(value)) = (values.next(), values.next()) {
            pairs.push((entry::text(name)?, value));
        }
        Some(Self(pairs))
    }

    fn get(&self, name: &str) -> Option<&Value> {
        let mut found = self.0.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(entry::number)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).cloned().and_then(entry::text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(pairs: &[(&str, Option<i64>)]) -> Named {
        let pairs = pairs.iter().map(|(name, value)| {
            let value = value.map_or(Value::Nil, Value::Int);
            ((*name).to_owned(), value)
        });
        Named(pairs.collect())
    }

    #[test]
    fn what_was_trimmed_is_warned_about() {
        for (length, added, read, lag, lost, expected) in [
            (10, 10, Some(4), Some(6), 0, vec![]),
            (10, 20, Some(15), Some(5), 0, vec!["trim only behind"]),
            (
                10,
                20,
                Some(5),
                Some(10),
                0,
                vec!["5 entries were deleted or trimmed before this group"],
            ),
            (
                10,
                20,
                None,
                None,
                2,
                vec!["2 entries", "trim only behind", "does not know the lag"],
            ),
        ] {
            let stream = named(&[("length", Some(length)), ("entries-added", Some(added))]);
            let group = named(&[("entries-read", read), ("lag", lag), ("pending", Some(3))]);
            let facts = weigh(
                lost,
                &stream,
                Some(&group),
                "maxmemory_policy:noeviction\r\n",
            );
            assert_eq!(facts.warnings.len(), expected.len(), "{:?}", facts.warnings);
            for (warning, expected) in facts.warnings.iter().zip(expected) {
                assert!(warning.contains(expected), "{warning}");
            }
            assert_eq!(facts.retained.is_some(), length == added);
            assert_eq!(facts.held, Some(3));
        }
        let facts = weigh(
            0,
            &named(&[]),
            None,
            "a:1\r\nmaxmemory_policy:allkeys-lru\r\n",
        );
        assert!(facts.warnings[0].contains("evict"));
    }
}
