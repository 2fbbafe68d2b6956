//! What a process says about itself at one moment.

use semel_policy::value::Secret;
use serde_json::Value;
use tokio::time::Instant;

use super::series::Series;
use crate::commands::ask::{self, Address};
use crate::error::Result;

/// One moment of a process.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) readiness: Value,
    pub(super) stats: Value,
    /// Null if the store has no inbox.
    pub(super) counts: Value,
    pub(super) series: Vec<Series>,
}

impl Sample {
    pub(super) async fn take(address: &Address, token: Option<&Secret>) -> Result<Self> {
        let (_, readiness) = ask::get(address, "/readyz", token).await?;
        let stats = ask::json(address, "/api/v1/stats", token).await?;
        let counts = ask::json(address, "/api/v1/inbox/counts", token).await?;
        let (status, metrics) = ask::get(address, "/metrics", token).await?;
        if status != 200 {
            return Err(ask::unanswered(address, status, &metrics));
        }
        Ok(Self {
            at: Instant::now(),
            readiness: serde_json::from_slice(&readiness).unwrap_or_default(),
            stats: stats.unwrap_or_default(),
            counts: counts.unwrap_or_default(),
            series: Series::all(&String::from_utf8_lossy(&metrics)),
        })
    }
}

#[cfg(test)]
impl Sample {
    /// A process without anything.
    pub(super) fn nothing() -> Self {
        Self {
            at: Instant::now(),
            readiness: Value::Null,
            stats: Value::Null,
            counts: Value::Null,
            series: Vec::new(),
        }
    }
}
