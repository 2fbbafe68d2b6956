//! Consumers that people have paused.

use semel_core::store::Actor;
use semel_core::{Result, Scope};

use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::value::Value;

/// Pauses a consumer or lets it go on; whether that changed anything.
pub(crate) struct Pausing<'a> {
    pub(crate) consumer: &'a Scope,
    pub(crate) paused: bool,
    pub(crate) by: &'a Actor,
    pub(crate) reason: Option<&'a str>,
}

impl Call for Pausing<'_> {
    type Answer = bool;

    const DOING: &'static str = "pausing a consumer";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<bool, Failure> {
        let params = [
            Value::text(self.consumer.to_string()),
            Value::text(self.consumer.name()),
            Value::int(self.consumer.version()),
            Value::int(self.paused),
            Value::text(self.by.as_str()),
            Value::Text(self.reason.map(str::to_owned)),
        ];
        let changed = link.ask_alone(&engine.sql.inbox.pause, &params).await?;
        Ok(!changed.is_empty())
    }
}
