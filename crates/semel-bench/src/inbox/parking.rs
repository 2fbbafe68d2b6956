//! Fills an inbox with messages that are parked and never due again.

use semel_core::Result;
use semel_core::inbox::BATCH_MAX;

use super::options::InboxOptions;
use super::ours::Ours;
use super::side::Side;

/// Parks as many messages as the options say. One batch at a time: what is claimed is what was just received.
pub(super) async fn park(ours: &Ours, side: &Side, options: &InboxOptions) -> Result<()> {
    let mut parked = 0;
    while parked < options.parked {
        let count = BATCH_MAX.min(options.parked - parked);
        ours.park(&side.letters(count)).await?;
        parked += count;
        let total = options.parked as u64;
        let what = format!("parking {total} messages");
        let done = (parked as u64).min(total.saturating_sub(1));
        options.progress.step(done, total, &what);
    }
    Ok(())
}
