//! One call: the typed way to run a function once.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;

use super::Once;
use super::answer::{Answer, Error, Finished, Recorded, Refusal, Reply, Settlement};
use super::attempt::Asked;
use super::drive::drive;
use super::owner::Run;
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::known::About;
use crate::outcome::{Body, Outcome, Verdict};
use crate::policy::{OnFailure, Policy};
use crate::record::{Record, State};

/// One operation to run once.
#[derive(Debug, Clone)]
pub struct Operation {
    pub(super) once: Once,
    pub(super) identity: Identity,
    pub(super) fingerprint: Fingerprint,
    pub(super) about: Option<About>,
    /// Where a granted operation waits for its turn before it runs; only in batches.
    pub(super) turns: Option<Arc<Semaphore>>,
    /// Whether the function gets a task of its own because it may block its thread: the lease must be
    /// renewed all the same.
    pub(super) own_task: bool,
    /// Called with every claim that is not granted.
    pub(super) not_granted: Option<Hook>,
}

/// What a caller wants called.
#[derive(Clone)]
pub(super) struct Hook(Arc<dyn Fn() + Send + Sync>);

impl Hook {
    pub(super) fn call(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hook")
    }
}

impl Operation {
    pub(super) const fn new(once: Once, identity: Identity, fingerprint: Fingerprint) -> Self {
        Self {
            once,
            identity,
            fingerprint,
            about: None,
            turns: None,
            own_task: false,
            not_granted: None,
        }
    }

    /// Which operation this is.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What is on record, if that can be told at once: a duplicate that needs no claim.
    pub fn cached(&self) -> Option<Arc<Record>> {
        let store = &self.once.shared.store;
        store.cached(&self.identity, self.fingerprint)
    }

    /// The same operation, with what was asked in a line for people.
    #[must_use]
    pub fn about(mut self, about: Option<About>) -> Self {
        self.about = about;
        self
    }

    /// The same operation, but `hook` is called when its claim is not granted, and again for each later one: what its caller holds for a run
    /// need not be held while a duplicate waits. It must be quick and must not block.
    #[must_use]
    pub fn when_not_granted(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.not_granted = Some(Hook(Arc::new(hook)));
        self
    }

    /// The same operation under exactly this policy.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.once.policy = policy;
        self
    }

    /// Runs `f` unless it ran before; then replays what it brought, its error included.
    ///
    /// Every error of `f` is kept. Use [`Operation::run_classified`] where some errors mean that
    /// nothing happened. Results are stored as JSON.
    pub async fn run<T, E, F, Fut>(self, f: F) -> Result<Answer<T>, Error<E>>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + Send + 'static,
        F: FnOnce(Run) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.run_classified(|_| OnFailure::Keep, f).await
    }

    /// Runs `f` unless it ran before; `classify` says what each error means for the record.
    pub async fn run_classified<T, E, C, F, Fut>(
        self,
        classify: C,
        f: F,
    ) -> Result<Answer<T>, Error<E>>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + Send + 'static,
        C: FnOnce(&E) -> OnFailure + Send + 'static,
        F: FnOnce(Run) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.run_typed(None, classify, f).await
    }

    pub(super) async fn run_typed<T, E, C, F, Fut>(
        mut self,
        first: Option<Asked>,
        classify: C,
        f: F,
    ) -> Result<Answer<T>, Error<E>>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + Send + 'static,
        C: FnOnce(&E) -> OnFailure + Send + 'static,
        F: FnOnce(Run) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let policy = self.once.policy;
        let typed = move |run| async move {
            let value = f(run).await;
            let settlement = settlement(&value, classify, &policy);
            Finished { value, settlement }
        };
        self.own_task = true;
        match drive(self, first, typed).await? {
            Reply::Ran {
                value,
                fence,
                attempt,
                recorded,
            } => match value {
                Ok(value) => Ok(Answer {
                    value,
                    replayed: false,
                    fence,
                    attempt,
                    recorded,
                }),
                Err(error) => Err(Error::Failed {
                    error,
                    replayed: false,
                    recorded,
                }),
            },
            Reply::Replayed(record) => replay(&record),
        }
    }

    /// Runs `f`, which itself says what to record; what the doors (HTTP, messages) build on. Its
    /// future must not block its thread: the task that polls it also renews the lease.
    pub async fn run_raw<R, F, Fut>(self, f: F) -> Result<Reply<R>, Refusal>
    where
        R: Send + 'static,
        F: FnOnce(Run) -> Fut + Send + 'static,
        Fut: Future<Output = Finished<R>> + Send + 'static,
    {
        drive(self, None, f).await
    }
}

fn settlement<T: Serialize, E: Serialize>(
    value: &Result<T, E>,
    classify: impl FnOnce(&E) -> OnFailure,
    policy: &Policy,
) -> Settlement {
    let (verdict, json) = match value {
        Ok(value) => (Verdict::Succeeded, serde_json::to_vec(value)),
        Err(error) => match classify(error) {
            OnFailure::Keep => (Verdict::Failed, serde_json::to_vec(error)),
            OnFailure::Release => return Settlement::Release,
            OnFailure::Unknown => return Settlement::Unknown(None),
        },
    };
    // The effect has happened: a result that cannot be written as JSON is left out, not an error.
    let body = match json {
        Ok(json) if policy.keep_result => Body::capped(json.into(), policy.body_bytes_max),
        Ok(json) => Body::omitted(&json),
        Err(_) => Body::omitted(&[]),
    };
    Settlement::Settle(Outcome {
        verdict,
        status: 0,
        headers: crate::Headers::default(),
        body,
    })
}

fn replay<T: DeserializeOwned, E: DeserializeOwned>(
    record: &Arc<Record>,
) -> Result<Answer<T>, Error<E>> {
    let State::Settled(settled) = &record.state else {
        unreachable!("only settled records are replayed");
    };
    let Some(body) = settled.outcome.body.kept() else {
        return Err(Error::NotKept {
            verdict: settled.outcome.verdict,
            settled_at: settled.at,
        });
    };
    match settled.outcome.verdict {
        Verdict::Succeeded => Ok(Answer {
            value: serde_json::from_slice(body).map_err(Error::Undecodable)?,
            replayed: true,
            fence: record.fence,
            attempt: record.attempt,
            recorded: Recorded::Settled,
        }),
        Verdict::Failed => Err(Error::Failed {
            error: serde_json::from_slice(body).map_err(Error::Undecodable)?,
            replayed: true,
            recorded: Recorded::Settled,
        }),
    }
}
