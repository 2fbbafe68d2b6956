//! Steps: parts of a handler that are done once, however often the handler runs.

use std::time::Duration;

use crate::policy::retry::Failure;
use semel_core::Kind;
use semel_core::inbox::work::STEPS_MAX;
use semel_core::inbox::{Renewal, Step};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::Ctx;
use crate::{keys, pause};

impl Ctx {
    /// Does a step, or returns what an earlier attempt has made of it. The result is durable before this returns; names are
    /// unique in the handler.
    ///
    /// A process may die after the step's effect and before its result is stored: the step then runs again. What it calls outside should
    /// be given [`Ctx::step_key`].
    pub async fn step<T, E, F, Fut>(&self, name: &str, run: F) -> Result<T, Failure>
    where
        T: Serialize + DeserializeOwned,
        E: Into<Failure>,
        F: FnOnce() -> Fut,
        Fut: Future<Output = Result<T, E>>,
    {
        if let Some(step) = self.done_step(name) {
            return serde_json::from_slice(&step.result).map_err(|_| unreadable(name));
        }
        self.check_steps(name)?;
        let result = run().await.map_err(Into::into)?;
        let text = serde_json::to_vec(&result).map_err(|error| {
            Failure::terminal(format!("the result of step {name:?} is not JSON: {error}"))
        })?;
        let step = Step::new(name, text).map_err(Failure::terminal)?;
        self.remember(step).await?;
        Ok(result)
    }

    /// A text that names this step of this message: the same for every attempt, unless an operator gives the message a new key; at most
    /// 255 bytes of printable ASCII.
    pub fn step_key(&self, name: &str) -> String {
        let key = keys::of_step(&self.claim().identity, name);
        keys::renewed(&key, self.key_generation())
    }

    /// The steps that are done, in their order.
    pub fn steps(&self) -> Vec<Step> {
        self.notes().steps.clone()
    }

    fn done_step(&self, name: &str) -> Option<Step> {
        let notes = self.notes();
        notes.steps.iter().find(|step| &*step.name == name).cloned()
    }

    pub(crate) fn check_steps(&self, name: &str) -> Result<(), Failure> {
        if self.0.inbox.is_none() {
            return Err(no_inbox());
        }
        match self.notes().steps.len() < STEPS_MAX {
            true => Ok(()),
            false => Err(Failure::terminal(format!(
                "a handler has at most {STEPS_MAX} steps, found one more: {name:?}"
            ))),
        }
    }

    /// Stores a step that is done. While the store fails this goes on trying, until the attempt's deadline.
    pub(crate) async fn remember(&self, step: Step) -> Result<(), Failure> {
        let inbox = self.0.inbox.as_ref().ok_or_else(no_inbox)?;
        let mut wait = Duration::from_millis(20);
        loop {
            let claim = self.claim().clone();
            match inbox.remember_step(claim, step.clone()).await {
                Ok(Renewal::Held) => {
                    self.notes().steps.push(step);
                    return Ok(());
                }
                Ok(Renewal::Lost) => {
                    let name = &step.name;
                    return Err(Failure::retryable(format!(
                        "the claim was lost before step {name:?} was remembered"
                    )));
                }
                // The step itself breaks a rule, by its size for example.
                Err(error) if error.kind() == Kind::Invalid => {
                    return Err(Failure::terminal(error));
                }
                // What the step did has happened, so no other kind of error ends this: a server that is
                // read-only in a failover is well a moment later, and so is a row that another transaction is at.
                Ok(Renewal::Busy) | Err(_) => {
                    sleep(wait).await;
                    wait = pause::longer(wait);
                }
            }
        }
    }
}

fn no_inbox() -> Failure {
    Failure::terminal("steps are remembered in an inbox, and this consumer has none")
}

fn unreadable(name: &str) -> Failure {
    Failure::terminal(format!(
        "the stored result of step {name:?} does not have the type that the handler asks for"
    ))
}
