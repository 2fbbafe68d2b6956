//! The statements, with the schema filled in. Their texts are in `sql/`.

/// The server's time in milliseconds, when it is asked for: not when the transaction began.
const NOW: &str = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// The columns that [`crate::rows::Stored`] is read from.
const RECORD: &str = "r.digest, r.fence, r.nonce, r.state, r.tenant, r.scope, r.version, r.key, r.fingerprint, \
    r.attempt, r.claimed_ms, r.lease_ms, r.since_ms, r.cause, r.expires_ms, r.settled_ms, r.took_ms, r.flags, \
    r.status, r.headers, r.body, r.omitted_len, r.omitted_digest";

/// The same without bodies, of which only the length is told.
const LISTED: &str = "r.digest, r.fence, r.nonce, r.state, r.tenant, r.scope, r.version, r.key, r.fingerprint, \
    r.attempt, r.claimed_ms, r.lease_ms, r.since_ms, r.cause, r.expires_ms, r.settled_ms, r.took_ms, r.flags, \
    r.status, r.headers, NULL::bytea, coalesce(r.omitted_len, octet_length(r.body), 0)::bigint, NULL::bytea";

/// The same of an archived record.
const ARCHIVED: &str = "'00000000-0000-0000-0000-000000000000'::uuid, r.fence, 0, 2, r.tenant, r.scope, r.version, r.key, \
    r.fingerprint, r.attempt, r.claimed_ms, NULL::bigint, NULL::bigint, NULL::text, r.expires_ms, r.settled_ms, \
    r.took_ms, r.flags, r.status, r.headers, NULL::bytea, coalesce(r.omitted_len, octet_length(r.body), 0)::bigint, \
    NULL::bytea";

/// Up to this fence the sweep has followed the claims, and noted those that were still open then.
const FOLLOWED: &str = "coalesce((SELECT value FROM {s}semel_meta WHERE name = 'open_fence'), 0)";

/// What may be running or unknown: what was noted, and all that came after. A few of them are settled by now.
const OPEN: &str = "(SELECT digest, fence FROM {s}semel_open \
    UNION SELECT digest, fence FROM {s}semel_records WHERE fence > {followed} AND state < 2)";

/// How many columns a record has; what a statement adds comes after them.
pub(crate) const RECORD_COLUMNS: usize = 23;

/// Fills in a statement.
pub(crate) fn text(schema: &str, template: &str) -> String {
    template
        .replace("{open}", OPEN)
        .replace("{followed}", FOLLOWED)
        .replace("{now}", NOW)
        .replace("{record}", RECORD)
        .replace("{listed}", LISTED)
        .replace("{archived}", ARCHIVED)
        .replace("{s}", &format!("{schema}."))
        .replace("{schema}", schema)
}

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Every statement of the verbs.
        #[derive(Debug)]
        pub(crate) struct Sql {
            $($(#[$doc])* pub(crate) $name: String,)+
        }

        impl Sql {
            pub(crate) fn new(schema: &str) -> Self {
                Self {
                    $($name: text(schema, include_str!(concat!("sql/", stringify!($name), ".sql"))),)+
                }
            }
        }
    };
}

statements! {
    claim,
    claim_alone,
    settle,
    settle_alone,
    renew,
    load,
    lock,
    draw,
    now,
    grant,
    extend,
    unknown,
    settle_one,
    vacate,
    archive,
    remember,
    trim,
    history,
    list,
    list_open,
    list_archived,
    stats,
    ended,
    walk,
    note_open,
    drop_open,
    retire,
    forget,
    turn,
    stand,
    keep,
    adopt,
    bar,
    rebar,
    raise,
}
