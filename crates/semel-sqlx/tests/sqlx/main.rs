//! Semel on sqlx, against a real server.

mod cancelled;
mod consumer;
mod cut;
mod helpers;
mod inbox;
mod pooler;
mod support;
mod transactions;
