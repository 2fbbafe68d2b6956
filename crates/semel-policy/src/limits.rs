//! Every limit of a configuration, on one page. At each of them there is an error that says so.

use std::time::Duration;

/// The longest file, in bytes.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;
/// How deep maps and lists may stand in each other.
pub const DEPTH_MAX: usize = 16;
/// The most keys and values of a file.
pub const NODES_MAX: usize = 100_000;
/// The most anchors, aliases (`*name`) and merges (`<<`) of a file.
pub const ALIASES_MAX: usize = 1_000;
/// The longest value once variables are filled in, in bytes.
pub const VALUE_BYTES_MAX: usize = 64 * 1024;
/// The longest name of a parameter or a claim, and the longest path, in bytes.
pub const NAME_BYTES_MAX: usize = 1_024;
/// The longest URL, in bytes.
pub const URL_BYTES_MAX: usize = 2_048;
/// The longest key file, in bytes.
pub const KEY_FILE_BYTES_MAX: usize = 64 * 1024;
/// The most routes of a gateway.
pub const ROUTES_MAX: usize = 1_000;
/// The most connections or requests in flight.
pub const COUNT_MAX: usize = 1_000_000;
/// The least that the head of a request may have, in bytes: what the parser needs.
pub const HEADER_BYTES_MIN: usize = 8 * 1024;
/// The largest head of a request, in bytes.
pub const HEADER_BYTES_MAX: usize = 1024 * 1024;
/// The largest body of a guarded request, in bytes: it is held in memory.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The largest body of a response that is kept, in bytes.
pub const RESPONSE_BYTES_MAX: usize = semel_core::outcome::BODY_BYTES_MAX;
/// The longest timeout.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest time that a duplicate waits for the first request.
pub const WAIT_MAX: Duration = Duration::from_secs(60 * 60);
