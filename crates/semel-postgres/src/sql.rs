//! The statements, with the schema filled in. Their texts are in `sql/`.

/// The server's time in milliseconds, when it is asked for: not when the transaction began.
const NOW: &str = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// Makes a statement that others wait for wait only briefly for locks ([`crate::connection::LOCK_WAIT_BRIEF_MS`]); it ends
/// with the statement's transaction.
const BRIEF: &str = "set_config('lock_timeout', '30', true)";

/// The columns that [`crate::records::Stored`] is read from.
const RECORD: &str = "r.digest, r.fence, r.nonce, r.state, r.tenant, r.scope, r.version, r.key, r.fingerprint, \
    r.attempt, r.claimed_ms, r.lease_ms, r.since_ms, r.cause, r.expires_ms, r.settled_ms, r.took_ms, r.flags, \
    r.status, r.headers, r.body, r.omitted_len, r.omitted_digest, r.about, r.evidence";

/// The same without bodies, of which only the length is told.
const LISTED: &str = "r.digest, r.fence, r.nonce, r.state, r.tenant, r.scope, r.version, r.key, r.fingerprint, \
    r.attempt, r.claimed_ms, r.lease_ms, r.since_ms, r.cause, r.expires_ms, r.settled_ms, r.took_ms, r.flags, \
    r.status, r.headers, NULL::bytea, coalesce(r.omitted_len, octet_length(r.body), 0)::bigint, NULL::bytea, r.about, r.evidence";

/// The same of an archived record.
const ARCHIVED: &str = "'00000000-0000-0000-0000-000000000000'::uuid, r.fence, 0, 2, r.tenant, r.scope, r.version, r.key, \
    r.fingerprint, r.attempt, r.claimed_ms, NULL::bigint, NULL::bigint, NULL::text, r.expires_ms, r.settled_ms, \
    r.took_ms, r.flags, r.status, r.headers, NULL::bytea, coalesce(r.omitted_len, octet_length(r.body), 0)::bigint, \
    NULL::bytea, r.about, NULL::text";

/// The same of an archived record with its body.
const ARCHIVED_WHOLE: &str = "'00000000-0000-0000-0000-000000000000'::uuid, r.fence, 0, 2, r.tenant, r.scope, r.version, r.key, \
    r.fingerprint, r.attempt, r.claimed_ms, NULL::bigint, NULL::bigint, NULL::text, r.expires_ms, r.settled_ms, \
    r.took_ms, r.flags, r.status, r.headers, r.body, r.omitted_len, r.omitted_digest, r.about, NULL::text";

/// A new fence: see `migrations/0003_sweep.sql`.
const FENCE: &str = "{s}semel_draw()";

/// Up to this fence the sweep has followed the claims, and noted those that were still open then.
const FOLLOWED: &str = "coalesce((SELECT value FROM {s}semel_meta WHERE name = 'open_fence'), 0)";

/// What may be running or unknown: what was noted, and all that came after. A few of them are settled by now.
const OPEN: &str = "(SELECT digest, fence FROM {s}semel_open \
    UNION SELECT digest, fence FROM {s}semel_records WHERE fence > {followed} AND state < 2)";

/// The columns that a row of work is read from; see `inbox::rows`.
const WORK: &str = "w.digest, w.expires_ms, w.fence, w.changed_ms, w.due_ms, w.deadline_ms, \
    w.sequence, w.attempts, w.generation, w.state, w.replay, w.stepped, w.worker, w.lane, w.cause, w.error, w.tenant, \
    w.first_ms, w.key_generation, w.rebuild, w.number, w.received_ms";

/// The columns that a message is read from.
const MESSAGE: &str = "m.tenant, m.scope, m.version, m.key, m.fingerprint, m.lane, m.sequence, m.kind, m.schema_version, \
    m.topic, m.topic_partition, m.topic_offset, m.headers, m.payload, m.received_ms";

/// The columns that an entry of a list is read from.
const ENTRY: &str = "m.tenant, m.scope, m.version, m.key, m.number, coalesce(w.state, 2), w.cause, w.error, m.kind, m.lane, \
    m.sequence, m.received_ms, coalesce(w.changed_ms, r.settled_ms), CASE WHEN w.state IN (1, 3) THEN w.due_ms END, \
    coalesce(w.attempts, r.attempt), \
    coalesce(w.generation, (SELECT max(t.generation) FROM {s}semel_transitions t \
        WHERE t.digest = m.digest AND t.at_ms >= m.received_ms), 0), \
    coalesce((SELECT d.count FROM {s}semel_duplicates d WHERE d.digest = m.digest AND d.last_ms >= m.received_ms), 0), \
    CASE WHEN w.state = 1 THEN w.worker END, CASE WHEN m.erased_ms IS NULL THEN octet_length(m.payload) END";

/// The columns that an operation chooses messages by.
const SELECTED: &str = "m.digest, m.expires_ms, m.number, m.received_ms, m.tenant, m.scope, m.version, m.key, m.fingerprint, \
    m.lane, m.sequence, w.state, w.cause, m.erased_ms IS NOT NULL";

/// A message without work, the newest of its id, whose record stands: it is COMPLETED.
const KEPT: &str = "(w.digest IS NOT NULL OR (r.digest IS NOT NULL AND NOT EXISTS ( \
    SELECT FROM {s}semel_messages n WHERE n.digest = m.digest AND n.number > m.number)))";

/// What a record that comes with finished work does to one that is there: a settled or open one stays.
const SETTLED_ANEW: &str = "ON CONFLICT (digest) DO UPDATE \
    SET fence = excluded.fence, claimed_ms = excluded.claimed_ms, nonce = 0, state = 2, attempt = excluded.attempt, \
        fingerprint = excluded.fingerprint, lease_ms = NULL, since_ms = NULL, cause = NULL, about = NULL, evidence = NULL, \
        expires_ms = excluded.expires_ms, settled_ms = excluded.settled_ms, took_ms = excluded.took_ms, \
        flags = excluded.flags, status = excluded.status, headers = excluded.headers, body = excluded.body, \
        omitted_len = excluded.omitted_len, omitted_digest = excluded.omitted_digest \
    WHERE r.state = 3 OR (r.state = 2 AND r.expires_ms <= excluded.settled_ms)";

/// How many columns a record has; what a statement adds comes after them.
pub(crate) const RECORD_COLUMNS: usize = 25;

/// Fills in a statement.
pub(crate) fn text(schema: &str, template: &str) -> String {
    template
        .replace("{entry}", ENTRY)
        .replace("{selected}", SELECTED)
        .replace("{kept}", KEPT)
        .replace("{message}", MESSAGE)
        .replace("{work}", WORK)
        .replace("{settled_anew}", SETTLED_ANEW)
        .replace("{open}", OPEN)
        .replace("{followed}", FOLLOWED)
        .replace("{fence}", FENCE)
        .replace("{now}", NOW)
        .replace("{brief}", BRIEF)
        .replace("{record}", RECORD)
        .replace("{listed}", LISTED)
        .replace("{archived}", ARCHIVED)
        .replace("{archived_whole}", ARCHIVED_WHOLE)
        .replace("{s}", &format!("{schema}."))
        .replace("{schema}", schema)
}

macro_rules! statements {
    ($(#[$doc:meta])* $all:ident in $folder:literal: $($name:ident,)+ $(; $field:ident: $inner:ident)?) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $all {
            $(pub(crate) $name: String,)+
            $(pub(crate) $field: $inner,)?
        }

        impl $all {
            pub(crate) fn new(schema: &str) -> Self {
                Self {
                    $($name: text(schema, include_str!(concat!($folder, stringify!($name), ".sql"))),)+
                    $($field: $inner::new(schema),)?
                }
            }
        }
    };
}

statements! {
    /// Every statement of the verbs.
    Sql in "sql/":
    claim,
    claim_alone,
    claim_in,
    settle,
    settle_alone,
    renew,
    load,
    lock,
    lock_free,
    draw,
    highest,
    now,
    grant,
    extend,
    unknown,
    settle_one,
    vacate,
    note_erased,
    erase,
    erase_history,
    erase_archived,
    archived,
    archive,
    remember,
    trim,
    history,
    list,
    list_open,
    list_archived,
    stats,
    audit,
    note_audit,
    turn,
    follow,
    followed,
    relook,
    ended,
    take,
    take_ended,
    retire,
    split,
    bound,
    postpone,
    forget,
    keep,
    adopt,
    bar,
    rebar,
    raise,
    ; inbox: InboxSql
}

statements! {
    /// Every statement of the inbox.
    InboxSql in "sql/inbox/":
    arrive,
    known,
    settled,
    enter,
    take_back,
    store,
    repeat,
    take_positions,
    hold_positions,
    stand_at,
    claim,
    next_due,
    steps,
    complete,
    list_kept,
    list_work,
    detail,
    attempts,
    transitions,
    counts,
    gaps,
    waiting_lanes,
    places,
    list_ids,
    tenants,
    select_ids,
    select_work,
    select_kept,
    select_erasable,
    forget_steps,
    hold_months,
    sweep_lanes,
    held_lanes,
    generations,
    make_lanes,
    lock_lanes,
    save_lanes,
    moving,
    lane_first,
    lane_around,
    states,
    pause,
    is_paused,
    claimed,
    lock_work,
    lock_messages,
    working,
    lanes_of,
    save,
    skip,
    note_attempts,
    note_transitions,
    note_edit,
    trim_edits,
    newest_edits,
    edits,
    erase,
    erased,
    trim_attempts,
    trim_transitions,
    archive_ended,
    renew,
    step,
    notify,
    sweep_notes,
    sweep_skipped,
    sweep_rest,
    overdue,
    ended,
}
