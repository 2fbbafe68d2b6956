//! A server that plays a script, and a client that is in a hurry.

mod reply;
mod seen;
mod server;

use std::time::Duration;

use semel_client::{Client, Error, Retry, reqwest};

pub(crate) use reply::{Reply, problem, reply};
pub(crate) use server::{Server, Step};

/// A policy whose waits are over at once, and whose time never ends within a test.
pub(crate) fn hurried() -> Retry {
    let instant = Duration::from_millis(1);
    Retry::default().delay_first(instant).delay_max(instant)
}

/// A client by [`hurried`]'s policy.
pub(crate) fn client() -> Client {
    client_with(hurried())
}

/// A client by another policy; it asks the environment for no proxy.
pub(crate) fn client_with(retry: Retry) -> Client {
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    Client::new(http).retry(retry)
}

/// The status that the last try was answered with, if it was.
pub(crate) fn last_status(error: &Error) -> Option<u16> {
    Some(error.response()?.status().as_u16())
}
