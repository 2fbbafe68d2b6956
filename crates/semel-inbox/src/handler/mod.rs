//! Handlers: what is done with a message.
//!
//! A handler may run more than once for one message: its process may die after its effect and before anybody knows. It is given
//! what makes that harmless: the message's id, the fence of its claim, steps that are remembered, intents that are stored
//! with its end, and its own transaction, in which the message can be finished together with the effect.

mod ctx;
mod done;
mod step;

pub use crate::policy::retry::Failure;
pub use ctx::Ctx;
pub use done::Done;
pub(crate) use done::How;

use std::pin::Pin;

/// What a handler returns: a boxed future, so that the trait stays object-safe.
pub type Handling<'a> = Pin<Box<dyn Future<Output = Result<Done, Failure>> + Send + 'a>>;

/// Does something with messages.
///
/// The future is dropped when the attempt's deadline passes or its claim is lost. After a deadline or a panic it is not known whether the effect
/// happened, and the consumer's policy decides.
pub trait Handler: Send + Sync + 'static {
    /// Handles one message.
    fn handle(&self, ctx: Ctx) -> Handling<'_>;
}

/// A handler that is a function.
///
/// ```
/// use semel_inbox::{Done, Failure, handler_fn};
///
/// let handler = handler_fn(|ctx| async move {
///     let order: serde_json::Value = serde_json::from_slice(ctx.message().payload()).map_err(Failure::terminal)?;
///     let total: u64 = ctx.step("total", async || Ok::<_, Failure>(order["lines"].as_array().map_or(0, |l| l.len() as u64))).await?;
///     Ok(Done::with_body(total.to_string()))
/// });
/// # let _ = handler;
/// ```
pub fn handler_fn<F, Fut>(run: F) -> impl Handler
where
    F: Fn(Ctx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Done, Failure>> + Send + 'static,
{
    Function(run)
}

struct Function<F>(F);

impl<F, Fut> Handler for Function<F>
where
    F: Fn(Ctx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Done, Failure>> + Send + 'static,
{
    fn handle(&self, ctx: Ctx) -> Handling<'_> {
        Box::pin((self.0)(ctx))
    }
}
