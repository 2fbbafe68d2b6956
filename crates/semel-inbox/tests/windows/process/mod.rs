//! The process that works and is killed: a real engine with a source or a webhook, a handler and intents.

mod gate;
mod handler;
mod job;
mod life;
mod source;
mod work;

pub(crate) use job::{Doing, Job, Window};
pub(crate) use life::Life;
pub(crate) use work::work;
