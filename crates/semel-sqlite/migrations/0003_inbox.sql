-- Messages that wait to take effect. What has been dealt with is a settled record; what is still to do is a row of
-- work. Everything about one message hangs on its number, which is its place in the order of arrival:
-- arrivals only append, and a claim finds the message of a row of work at the same place.

-- Consumers that have or had messages; their small number stands for them in the other tables.
CREATE TABLE semel_consumers (
    consumer INTEGER PRIMARY KEY,
    scope    TEXT NOT NULL,
    version  INTEGER NOT NULL,
    UNIQUE (scope, version)
);

-- Messages as they arrived, never updated. The payload is last, so that nobody reads over it.
CREATE TABLE semel_messages (
    number          INTEGER PRIMARY KEY,
    consumer        INTEGER NOT NULL,
    key             TEXT NOT NULL,
    tenant          TEXT NOT NULL,
    fingerprint     BLOB NOT NULL,
    received_ms     INTEGER NOT NULL,
    expires_ms      INTEGER NOT NULL,
    lane            TEXT,
    sequence        INTEGER,
    kind            TEXT,
    schema_version  INTEGER,
    topic           TEXT,
    topic_partition INTEGER,
    topic_offset    INTEGER,
    headers         BLOB,
    payload         BLOB NOT NULL
);

CREATE UNIQUE INDEX semel_messages_by_key ON semel_messages (consumer, key, tenant);
-- For lists, newest first.
CREATE INDEX semel_messages_by_consumer ON semel_messages (consumer);

-- What is still to do, or stays for people to see: everything but what is COMPLETED.
--   state        0 RECEIVED, 1 IN_PROGRESS, 3 FAILED_RETRYABLE, 4 FAILED_TERMINAL, 5 PARKED, 6 SKIPPED_DUPLICATE
--   due_ms       when it may be claimed, for what is in progress the end of its lease; null for whatever nobody may claim
--   replay       1 if it was dealt with before, 2 if it may also run at or below its lane's done
--   lane         the lane that it stands in, if it stands in one; its sequence there, -1 where arrival decides
--   deadline_ms  when its lane is to be looked after: a wait for a missing version ends, or a lost head was parked
CREATE TABLE semel_work (
    number      INTEGER PRIMARY KEY,
    consumer    INTEGER NOT NULL,
    state       INTEGER NOT NULL,
    due_ms      INTEGER,
    fence       INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    replay      INTEGER NOT NULL,
    changed_ms  INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    deadline_ms INTEGER,
    lane        TEXT,
    worker      TEXT,
    cause       TEXT,
    error       TEXT
);

-- The one index that claims look at. What nobody may claim is not in it.
CREATE INDEX semel_work_ready ON semel_work (consumer, due_ms) WHERE due_ms IS NOT NULL;
-- What waits for something else than time, for lists and counts.
CREATE INDEX semel_work_still ON semel_work (state, consumer) WHERE due_ms IS NULL;
CREATE INDEX semel_work_lanes ON semel_work (consumer, lane, sequence) WHERE lane IS NOT NULL;
CREATE INDEX semel_work_deadlines ON semel_work (consumer, deadline_ms) WHERE deadline_ms IS NOT NULL;
CREATE INDEX semel_work_gaps ON semel_work (consumer, lane) WHERE cause IN ('gap', 'gap-expired');

-- The last sequence of each lane that was applied or passed over; -1 if a lane has begun at 0. Never deleted:
-- without it an old version would look like a first one.
CREATE TABLE semel_lanes (
    consumer INTEGER NOT NULL,
    lane     TEXT NOT NULL,
    done     INTEGER NOT NULL,
    PRIMARY KEY (consumer, lane)
) WITHOUT ROWID;

-- What did not go as it should: attempts that did not complete, changes of state.
CREATE TABLE semel_attempts (
    number     INTEGER NOT NULL,
    position   INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    fence      INTEGER NOT NULL,
    began_ms   INTEGER NOT NULL,
    ended_ms   INTEGER NOT NULL,
    state      INTEGER NOT NULL,
    late       INTEGER NOT NULL,
    worker     TEXT,
    cause      TEXT,
    error      TEXT,
    PRIMARY KEY (number, position)
) WITHOUT ROWID;

CREATE TABLE semel_transitions (
    number   INTEGER NOT NULL,
    position INTEGER NOT NULL,
    at_ms    INTEGER NOT NULL,
    state    INTEGER NOT NULL,
    cause    TEXT,
    detail   TEXT,
    PRIMARY KEY (number, position)
) WITHOUT ROWID;

CREATE TABLE semel_steps (
    number   INTEGER NOT NULL,
    name     TEXT NOT NULL,
    position INTEGER NOT NULL,
    result   BLOB NOT NULL,
    PRIMARY KEY (number, name)
) WITHOUT ROWID;

CREATE TABLE semel_duplicates (
    number  INTEGER PRIMARY KEY,
    count   INTEGER NOT NULL,
    last_ms INTEGER NOT NULL
);

-- How often a message was replayed or retried by hand; work that is completed takes its own count with it.
CREATE TABLE semel_generations (
    number     INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL
);

-- How far each source has been received.
CREATE TABLE semel_positions (
    source     TEXT PRIMARY KEY,
    position   TEXT NOT NULL,
    changed_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- What people did by hand.
CREATE TABLE semel_audit (
    id        INTEGER PRIMARY KEY,
    at_ms     INTEGER NOT NULL,
    actor     TEXT NOT NULL,
    verb      TEXT NOT NULL,
    action    TEXT NOT NULL,
    consumer  TEXT NOT NULL,
    selection TEXT NOT NULL,
    changed   INTEGER NOT NULL,
    reason    TEXT
);

-- For people with the sqlite3 tool: SELECT * FROM semel_inbox.
CREATE VIEW semel_inbox AS
SELECT c.scope || '@' || c.version AS consumer, m.tenant, m.key AS message_id,
       CASE w.state
           WHEN 0 THEN 'RECEIVED'
           WHEN 1 THEN 'IN_PROGRESS'
           WHEN 3 THEN 'FAILED_RETRYABLE'
           WHEN 4 THEN 'FAILED_TERMINAL'
           WHEN 5 THEN 'PARKED'
           WHEN 6 THEN 'SKIPPED_DUPLICATE'
           ELSE 'COMPLETED'
       END AS state,
       w.cause, w.error, w.attempts, w.generation, m.lane, m.sequence, w.worker,
       datetime(m.received_ms / 1000, 'unixepoch') AS received,
       datetime(w.changed_ms / 1000, 'unixepoch') AS changed,
       datetime(w.due_ms / 1000, 'unixepoch') AS due,
       length(m.payload) AS payload_bytes
FROM semel_messages m
JOIN semel_consumers c USING (consumer)
LEFT JOIN semel_work w USING (number);
