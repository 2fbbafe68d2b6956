//! What the file may say, section by section, as plain data.

mod admin;
mod gateway;
mod limits;
mod log;
mod route;
mod settings;

pub use admin::Admin;
pub use gateway::{Gateway, Host, Tls, UpstreamTls};
pub use limits::{Limits, Timeouts};
pub use log::{Format, Level, Log};
pub use route::{Match, Method, Pattern, Route};
pub use settings::*;
