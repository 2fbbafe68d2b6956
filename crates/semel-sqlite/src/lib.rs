//! Semel's embedded store on SQLite
