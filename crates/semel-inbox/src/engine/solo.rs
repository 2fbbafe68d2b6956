//! Attempts at messages that are in no inbox, for a consumer whose broker remembers what was processed.

use std::sync::Arc;

use semel_core::inbox::{Disposition, Job, Message, Plan};
use semel_core::{Claim, Clock, Fence, LeaseTerm, Result, Tracer};

use super::attempt::{self, Judged};
use crate::handler::{Ctx, Handler};
use crate::intents::{Targets, target_scope};
use crate::observer::{AttemptEnd, Observer};
use crate::policy::Consumer;
use crate::trace;

/// A consumer without an inbox: its handler, its policy, and what its handler may have published.
///
/// Handlers are given what they are given by an engine, but for steps, which nothing would remember: a handler that asks for one fails. The fence of
/// an attempt is the caller's to say, and the caller sees to it that a message is not tried twice at the same time.
pub struct Solo {
    consumer: Arc<Consumer>,
    handler: Arc<dyn Handler>,
    targets: Arc<Targets>,
    clock: Arc<dyn Clock>,
    watch: Arc<dyn Observer>,
    tracer: Tracer,
}

impl Solo {
    /// A consumer whose handler may publish to targets of these names.
    ///
    /// # Errors
    /// A name that no target can have.
    pub fn new(
        consumer: Consumer,
        handler: Arc<dyn Handler>,
        targets: &[&str],
        clock: Arc<dyn Clock>,
        watch: Arc<dyn Observer>,
    ) -> Result<Self> {
        let mut known = Targets::default();
        for name in targets {
            known.add(name, Plan::new(target_scope(name)?), true);
        }
        Ok(Self {
            consumer: Arc::new(consumer),
            handler,
            targets: Arc::new(known),
            clock,
            watch,
            tracer: Tracer::off(),
        })
    }

    /// With what begins the spans of attempts.
    #[must_use]
    pub fn traced(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }

    /// Its policy.
    pub fn consumer(&self) -> &Consumer {
        &self.consumer
    }

    /// What the attempts report to.
    pub fn watch(&self) -> &dyn Observer {
        &*self.watch
    }

    /// The present, by the clock that attempts are given.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// Tries a message once: what the policy makes of the handler's end. The attempt counts from 1.
    pub async fn attempt(&self, message: Arc<Message>, attempt: u32, fence: Fence) -> Disposition {
        let job = self.job(message.clone(), attempt, fence);
        let span = trace::attempt(&self.tracer, self.consumer.name(), &job);
        let ctx = Ctx::new(
            job,
            None,
            self.consumer.clone(),
            self.targets.clone(),
            span.handle(),
        );
        let result = attempt::handled(&self.consumer, &*self.handler, &ctx).await;
        let (Judged::Disposition(disposition) | Judged::InTransaction(disposition)) =
            attempt::judged(&self.consumer, &ctx, result);
        attempt::traced(&span, &disposition);
        let end = AttemptEnd {
            state: disposition.state(),
            cause: attempt::cause(&disposition),
            took: ctx.took(),
            late: false,
        };
        self.watch.finished(&message, end);
        disposition
    }

    fn job(&self, message: Arc<Message>, attempt: u32, fence: Fence) -> Job {
        let now = self.clock.now();
        Job {
            claim: Claim {
                identity: message.identity().clone(),
                fence,
            },
            message,
            attempt,
            generation: 0,
            replay: false,
            reclaimed: false,
            received_at: now,
            first_tried_at: now,
            key_generation: 0,
            claimed_at: now,
            lease_until: now.after(LeaseTerm::default().get()),
            steps: Vec::new(),
        }
    }
}
