//! Makes a request or a message take effect once: the facade for Rust users
