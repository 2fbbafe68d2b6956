//! The admin side over real sockets, on a real store.

mod claims;
mod faulty;
mod gate;
mod health;
mod http;
mod metrics;
mod openapi;
mod races;
mod records;
mod refusals;
mod server;
