//! Semel on sqlx, against a real server.

mod cancelled;
mod consumer;
mod cut;
mod helpers;
mod pooler;
mod support;
mod transactions;
