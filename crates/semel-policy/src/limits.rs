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
/// The most tokens of the admin side, `admin.token` not counted.
pub const TOKENS_MAX: usize = 255;
/// The longest name of a token, in bytes.
pub const TOKEN_NAME_BYTES_MAX: usize = 64;
/// The most scopes of a token for claims.
pub const TOKEN_SCOPES_MAX: usize = 32;
/// The length below which the secret of a token is warned about, in bytes.
pub const TOKEN_BYTES_ADVISED: usize = 16;
/// The most hosts of one route.
pub const HOSTS_MAX: usize = 64;
/// The most tenants that are named with limits of their own.
pub const TENANTS_MAX: usize = 10_000;
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
/// The least memory for bodies, in bytes: the largest call of the admin API must have room.
pub const BUFFERED_BYTES_MIN: usize = 32 * 1024 * 1024;
/// The most memory for bodies, in bytes.
pub const BUFFERED_BYTES_MAX: usize = 1024 * 1024 * 1024 * 1024;
/// The largest body of a response that is kept, in bytes.
pub const RESPONSE_BYTES_MAX: usize = semel_core::outcome::BODY_BYTES_MAX;
/// The most headers of a service's answer.
pub const RESPONSE_HEADERS_MAX: usize = 10_000;
/// The longest timeout.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest time that a duplicate waits for the first request.
pub const WAIT_MAX: Duration = Duration::from_secs(60 * 60);
/// The most consumers, those of both roots together.
pub const CONSUMERS_MAX: usize = 1_000;
/// The most targets of intents.
pub const TARGETS_MAX: usize = 1_000;
/// The most headers that a delivery or a target sets.
pub const HEADERS_MAX: usize = 32;
/// The most secrets that a signature is checked with.
pub const SECRETS_MAX: usize = 8;
/// The largest message unless its consumer says otherwise, in bytes.
pub const MESSAGE_BYTES: usize = 1024 * 1024;
/// The largest message, in bytes.
pub const MESSAGE_BYTES_MAX: usize = semel_core::outcome::BODY_BYTES_MAX;
/// How long a message is remembered unless its consumer says otherwise: what brokers usually keep.
pub const MESSAGE_RETENTION: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The longest time that a message waits for an earlier version.
pub const GAP_DEADLINE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The longest time that the provider of an intent may take to answer.
pub const TARGET_TIMEOUT_MAX: Duration = Duration::from_secs(10 * 60);
