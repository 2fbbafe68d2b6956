//! One caller: it insists until it is told something final.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use semel_core::once::{Answer, Error, Recorded, Refusal};
use semel_core::{Fingerprint, Identity, OnFailure, OnUnknown, Once};
use tokio::time::{sleep, timeout};

use super::progress::Progress;
use super::tally::Account;
use crate::ledger::{Effect, Ledger};

/// How often a caller asks once everything works again. While the fault lasts, it asks without end.
const TRIES_MAX: usize = 200;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(50);
/// A store that does not answer within this has no bound of its own.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// What a caller was told in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Done,
    Unknown,
    /// Nothing final within the tries that it has.
    Nothing,
}

pub(super) struct Caller {
    pub(super) once: Once,
    pub(super) tenant: String,
    pub(super) operation: String,
    pub(super) ledger: Ledger,
    pub(super) progress: Progress,
    pub(super) account: Arc<Account>,
}

impl Caller {
    /// Asks until there is an end.
    pub(super) async fn insist(&self) -> End {
        let mut tries = 0;
        while tries < TRIES_MAX {
            tries += usize::from(self.progress.is_calm());
            let end = self.ask().await;
            if let Some(end) = end {
                return end;
            }
            sleep(PAUSE).await;
        }
        End::Nothing
    }

    /// Asks once; none if it is worth asking again.
    async fn ask(&self) -> Option<End> {
        let ran = Arc::new(AtomicBool::new(false));
        let Ok(answer) = timeout(ANSWER_WITHIN, self.call(ran.clone())).await else {
            self.wrong("got no answer at all");
            return None;
        };
        let refused = matches!(answer, Err(Error::Refused(Refusal::Store(_))));
        self.progress.answered(refused);
        if refused {
            self.account.refused();
            if ran.load(Ordering::SeqCst) {
                self.wrong("was refused by a store that cannot answer, and ran");
            }
        }
        self.end_of(answer)
    }

    fn end_of(&self, answer: Result<Answer<String>, Error<String>>) -> Option<End> {
        match answer {
            Ok(answer) if answer.value != self.receipt() => {
                self.wrong("got the receipt of another operation");
                Some(End::Done)
            }
            Ok(answer) => match answer.recorded {
                Recorded::Settled => Some(End::Done),
                // It ran, but what is on record must be asked for.
                _ => None,
            },
            Err(Error::Refused(Refusal::Unknown { .. })) => {
                let rerun = self.once.policy().on_unknown == OnUnknown::Rerun;
                (!rerun).then_some(End::Unknown)
            }
            Err(Error::Refused(Refusal::Store(_) | Refusal::InProgress { .. })) => None,
            // The provider refused an effect, and the run could not tell more.
            Err(Error::Failed { .. }) => None,
            Err(error) => {
                self.wrong(&format!("ended with: {error}"));
                None
            }
        }
    }

    async fn call(&self, ran: Arc<AtomicBool>) -> Result<Answer<String>, Error<String>> {
        let identity = Identity::parse(&self.tenant, "effects@1", &self.operation)
            .expect("names of operations are valid keys");
        let asked = Fingerprint::of_bytes(self.operation.as_bytes());
        let effect = self.effect();
        let receipt = self.receipt();
        self.once
            .operation(identity, asked)
            .run_classified(
                |_: &String| OnFailure::Unknown,
                move |run| async move {
                    ran.store(true, Ordering::SeqCst);
                    // Others get their turn in the middle of the run.
                    tokio::task::yield_now().await;
                    effect(run.fence().get())?;
                    tokio::task::yield_now().await;
                    Ok(receipt)
                },
            )
            .await
    }

    /// The effect that the policy asks for.
    fn effect(&self) -> impl FnOnce(u64) -> Result<(), String> + Send + 'static {
        let (ledger, operation) = (self.ledger.clone(), self.operation.clone());
        let (progress, on_unknown) = (self.progress.clone(), self.once.policy().on_unknown);
        move |fence| {
            let done = match on_unknown {
                OnUnknown::Hold => ledger.effect(&operation, fence).map(|()| Effect::Done),
                OnUnknown::Rerun => ledger.effect_checked(&operation, fence),
                OnUnknown::Reconcile => ledger.effect_unless_barred(&operation, fence),
            };
            match done.map_err(|error| error.to_string())? {
                Effect::Done => progress.took_effect(),
                Effect::AlreadyDone => {}
                Effect::Refused => return Err("the provider refused an old claim".to_owned()),
            }
            Ok(())
        }
    }

    fn receipt(&self) -> String {
        format!("receipt of {}", self.operation)
    }

    fn wrong(&self, what: &str) {
        self.account.wrong(&self.operation, what);
    }
}
