//! What the file may say, section by section, as plain data.

mod admin;
mod alerts;
pub mod consumer;
mod encryption;
mod gateway;
mod inbox;
pub mod intent;
mod limits;
mod listening;
mod log;
mod quota;
mod route;
mod settings;
mod token;
mod tracing;

pub use admin::{Admin, Beside};
pub use alerts::{AlertWebhook, Alerts, Thresholds};
pub use consumer::{Consumer, IdempotentConsumer};
pub use encryption::{Encryption, EncryptionKey};
pub use gateway::{Gateway, Host, PolicyPage, UpstreamTls};
pub use inbox::{InboxLimits, InboxListen, InboxTimeouts};
pub use intent::Target;
pub use limits::{Limits, ProcessLimits, Timeouts};
pub use listening::{AccessLog, Share, Tls};
pub use log::{Format, Level, Log};
pub use quota::{Quota, Quotas};
pub use route::{Match, Method, Pattern, Route};
pub use settings::*;
pub use token::{Role, Token};
pub use tracing::{Callers, Messages, Sample, Tracing};
