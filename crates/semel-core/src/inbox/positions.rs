//! How far a source has been received, for each of its partitions, and which reader may move that on.
//!
//! A reader takes the positions of the partitions that it is about to read ([`crate::Inbox::take_positions`]). Each taking has a higher
//! epoch, and progress under an older one is refused together with its messages, so that two processes that both hold themselves
//! for the reader of a partition cannot overwrite each other. Positions are opaque: no order between them is assumed, and a source
//! that is set back on purpose stays there.

use std::collections::HashSet;

use crate::error::{Error, Kind, Result};
use crate::store::check_batch;

/// The longest name of a source, of a partition, and the longest position, in bytes.
pub const POSITION_BYTES_MAX: usize = 4_096;

/// How far one partition of a source will have been received, kept with the messages of the same call or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The source's name.
    pub source: String,
    /// The partition's name; empty for a source that has no partitions.
    pub partition: String,
    /// How far, in the source's own words.
    pub position: String,
    /// The epoch under which the reader has taken the partition: [`Taken::epoch`].
    pub epoch: u64,
}

/// A partition whose position was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The partition's name.
    pub partition: String,
    /// How far it has been received; `None` if nothing of it was.
    pub position: Option<String>,
    /// The epoch of this taking, from 1 on.
    pub epoch: u64,
}

impl Progress {
    /// Refuses the progress of a reader that does not own the position: `newest` is the epoch of the last taking, 0 if there was none.
    pub fn check_owner(&self, newest: u64) -> Result<()> {
        let whose = match self.epoch.cmp(&newest) {
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => "is owned by a newer reader",
            // As after the restore of an older backup.
            std::cmp::Ordering::Greater => "was not taken by this reader",
        };
        let (source, partition, found) = (&self.source, &self.partition, self.epoch);
        Err(Error::new(
            Kind::Fenced,
            format!(
                "position of {source} {whose}: partition {partition:?} has epoch {newest}, found {found}"
            ),
        ))
    }
}

/// Refuses to take what breaks the rules.
pub fn check_taking(source: &str, partitions: &[String]) -> Result<()> {
    check_batch(partitions.len())?;
    check_texts(std::iter::once(source).chain(partitions.iter().map(String::as_str)))?;
    check_distinct(partitions.iter().map(|partition| (source, &**partition)))
}

/// Refuses progress that breaks the rules. Whether its reader owns it is for [`Progress::check_owner`].
pub(super) fn check_progress(all: &[Progress]) -> Result<()> {
    check_batch(all.len())?;
    check_texts(
        all.iter()
            .flat_map(|one| [&*one.source, &*one.partition, &*one.position]),
    )?;
    match all.iter().find(|one| one.epoch == 0) {
        Some(one) => Err(Error::invalid(format!(
            "a position is taken before it moves, so that its epoch is at least 1; found 0 for {}",
            one.source
        ))),
        None => check_distinct(all.iter().map(|one| (&*one.source, &*one.partition))),
    }
}

fn check_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Result<()> {
    for text in texts {
        if text.len() > POSITION_BYTES_MAX {
            let message = format!(
                "sources, partitions and positions have at most {POSITION_BYTES_MAX} bytes, found {}",
                text.len()
            );
            return Err(Error::new(Kind::Limit, message));
        }
        if text.contains('\0') {
            let message = "sources, partitions and positions hold no NUL, found one";
            return Err(Error::invalid(message));
        }
    }
    Ok(())
}

fn check_distinct<'a>(partitions: impl Iterator<Item = (&'a str, &'a str)>) -> Result<()> {
    let mut seen = HashSet::new();
    for (source, partition) in partitions {
        if !seen.insert((source, partition)) {
            return Err(Error::invalid(format!(
                "a partition is named once in a call, found {partition:?} of {source} twice"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::BATCH_MAX;

    fn progress(partition: &str, epoch: u64) -> Progress {
        Progress {
            source: "orders".to_owned(),
            partition: partition.to_owned(),
            position: "7".to_owned(),
            epoch,
        }
    }

    #[test]
    fn only_the_newest_epoch_owns_a_position() {
        let owner = progress("3", 5);
        assert!(owner.check_owner(5).is_ok());
        for (newest, said) in [(6, "a newer reader"), (4, "not taken by this reader")] {
            let error = owner.check_owner(newest).unwrap_err();
            assert_eq!(error.kind(), Kind::Fenced);
            assert!(!error.is_retryable());
            assert!(error.to_string().contains(said), "{error}");
        }
    }

    #[test]
    fn positions_have_limits_and_are_named_once() {
        let kind = |all: &[Progress]| check_progress(all).map_err(|error| error.kind());
        assert_eq!(kind(&[progress("1", 1), progress("2", 1)]), Ok(()));
        let twice = [progress("1", 1), progress("1", 2)];
        assert_eq!(kind(&twice), Err(Kind::Invalid));
        assert_eq!(kind(&[progress("1", 0)]), Err(Kind::Invalid));
        assert_eq!(kind(&[progress("\0", 1)]), Err(Kind::Invalid));
        let long = "x".repeat(POSITION_BYTES_MAX + 1);
        assert_eq!(kind(&[progress(&long, 1)]), Err(Kind::Limit));
        let many: Vec<String> = (0..=BATCH_MAX).map(|n| n.to_string()).collect();
        let taking = |partitions: &[String]| check_taking("orders", partitions).is_ok();
        assert!(taking(&many[1..]) && !taking(&many));
        assert!(!taking(&["a".to_owned(), "a".to_owned()]));
    }
}
