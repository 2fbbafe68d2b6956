//! Reads new entries, as long as there is room for them.

use std::sync::Arc;

use semel_core::Result;
use semel_inbox::source::OPEN_MAX;
use tokio::time::sleep;

use super::group::{BLOCK, Group};
use super::{PAUSES, longer};
use crate::entry;
use crate::error::{from_redis, is_without_group};

/// The most deliveries that new entries may fill; the rest is for those that are taken over.
const FRESH_MAX: usize = OPEN_MAX / 2;

/// Reads until it is aborted.
pub(super) async fn run(group: Arc<Group>) {
    let mut pause = PAUSES.0;
    loop {
        let room = group.buffer.has_room(FRESH_MAX).await;
        match read(&group, room).await {
            Ok(()) => pause = PAUSES.0,
            Err(error) => {
                group.buffer.fail(error);
                sleep(pause).await;
                pause = longer(pause);
            }
        }
    }
}

async fn read(group: &Group, room: usize) -> Result<()> {
    let epoch = group.epoch().await?;
    let mut command = redis::cmd("XREADGROUP");
    command
        .arg("GROUP")
        .arg(&group.reading.group)
        .arg(&group.me);
    command.arg("COUNT").arg(room);
    command.arg("BLOCK").arg(BLOCK.as_millis().to_string());
    command.arg("STREAMS").arg(&group.address.stream).arg(">");
    let doing = "reading";
    let _at_server = group.at_server.lock().await;
    match group.reads.try_ask(doing, &command).await? {
        Ok(reply) => {
            let found = entry::fresh(reply)?;
            if !found.is_empty() {
                // Another process may have made the group anew since the last read; then these are not of the life that is known here.
                group.check().await?;
            }
            group.deliver(&epoch, found);
        }
        // A read that waited while the stream was deleted ends with the latter, and finds no group the next time.
        Err(error) if is_without_group(&error) => group.lose(&epoch),
        Err(error) if error.code() == Some("UNBLOCKED") => {}
        Err(error) => return Err(from_redis(doing, error)),
    }
    Ok(())
}
