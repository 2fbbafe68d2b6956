//! What is done with a message, and the windows in it.

use std::sync::Arc;

use semel_inbox::{Ctx, Done, Failure};

use super::{Job, Window};
use crate::outside::CALLS;
use crate::workshop::{CHARGE, PAY};

pub(super) struct Hand {
    pub(super) job: Arc<Job>,
    pub(super) client: reqwest::Client,
}

impl Hand {
    pub(super) async fn handle(&self, ctx: Ctx) -> Result<Done, Failure> {
        let (job, doing) = (&self.job, self.job.doing);
        job.reach(Window::AfterClaim);
        if doing.steps {
            self.step(&ctx, "reserve").await?;
            job.reach(Window::BetweenSteps);
            self.step(&ctx, "ship").await?;
        }
        if doing.call {
            self.call(CALLS, Some(ctx.idempotency_key())).await?;
            job.reach(Window::AfterCall);
        }
        if doing.intent {
            ctx.intent(PAY, CHARGE, "{}")?;
        }
        let (job, attempt) = (job.clone(), Attempt::of(&ctx));
        let end = move || attempt.end(&job);
        match doing.row {
            true => self.job.place.apply(&ctx, Box::new(end)).await,
            false => end().map(|()| Done::new()),
        }
    }

    /// A step whose provider cannot tell a repetition.
    async fn step(&self, ctx: &Ctx, name: &str) -> Result<(), Failure> {
        ctx.step(name, async || self.call(name, None).await).await
    }

    async fn call(&self, provider: &str, key: Option<String>) -> Result<(), Failure> {
        let mut request = self.client.post(self.job.provider(provider));
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        request.send().await?.error_for_status()?;
        Ok(())
    }
}

/// Which attempt it is.
struct Attempt {
    number: u32,
    is_replay: bool,
}

impl Attempt {
    fn of(ctx: &Ctx) -> Self {
        Self {
            number: ctx.attempt(),
            is_replay: ctx.is_replay(),
        }
    }

    /// Everything is done, and nobody knows of it.
    fn end(&self, job: &Job) -> Result<(), Failure> {
        if job.doing.fails_first && self.number == 1 {
            return Err(Failure::retryable("the first time it fails"));
        }
        job.reach(Window::BeforeCommit);
        if self.number > 1 {
            job.reach(Window::DuringRetry);
        }
        if self.is_replay {
            job.reach(Window::DuringReplay);
        }
        Ok(())
    }
}
