//! The #[idempotent] attribute of Semel
