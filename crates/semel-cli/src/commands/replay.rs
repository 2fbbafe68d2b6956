//! `semel replay`: runs messages once more that were dealt with.

use semel_core::inbox::Action;
use semel_inbox::Replay;

use super::messages::{Change, ChangeArgs, OpenInbox, Purpose, Select};
use crate::discovery::ConfigArg;
use crate::error::{Error, Result};
use crate::output;
use crate::stores::StoreArgs;
use crate::text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    select: Select,

    /// Replay although the consumer's policy does not allow it; needs --reason
    #[arg(long, requires = "reason")]
    force: bool,

    #[command(flatten)]
    change: ChangeArgs,
}

pub(crate) async fn run(args: Args, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    args.select.must_say(false)?;
    let open = OpenInbox::open(config, store, Purpose::Act).await?;
    let policy = open.policies.replay(&args.select.consumer);
    args.may(&open, policy)?;
    let change = Change {
        select: &args.select,
        states: Vec::new(),
        action: Action::Replay {
            rebuild: policy.rebuild,
        },
        verb: "replay",
    };
    args.change.apply(&open, change).await
}

impl Args {
    /// Whether policy or force allow it. To look at what it would do is always allowed.
    fn may(&self, open: &OpenInbox, policy: Replay) -> Result<()> {
        let consumer = &self.select.consumer;
        let reason = self.change.reason.as_deref().unwrap_or_default();
        let forced = self.force.then_some(reason);
        let Err(refused) = policy.check(&consumer.to_string(), forced) else {
            return Ok(());
        };
        let insist = format!("--force --reason {}", text::word("WHY"));
        if self.change.dry_run {
            output::note(&format!("without a dry run this needs {insist}"));
            return Ok(());
        }
        let hint = match open.policies.knows(consumer) {
            true => format!("to look first: --dry-run\nto replay all the same: {insist}"),
            false => format!(
                "no configuration file says that {consumer} may be replayed; name one with --config\n\
                 to look first: --dry-run\nto replay all the same: {insist}"
            ),
        };
        Err(Error::refused(refused.to_string()).hint(hint))
    }
}
