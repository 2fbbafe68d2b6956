-- {s} stands for the schema. Consumers are written as people write them: name@version.

-- Every consumer that has or had messages.
CREATE TABLE {s}semel_consumers (
    consumer text PRIMARY KEY,
    scope    text NOT NULL,
    version  bigint NOT NULL,
    since_ms bigint NOT NULL
);

-- Whose messages they were: people name messages without their tenant.
CREATE TABLE {s}semel_tenants (
    consumer text NOT NULL,
    tenant   text NOT NULL,
    PRIMARY KEY (consumer, tenant)
);

-- One number per batch of arrivals; a message's own number is that times 1024, and its place in the batch.
CREATE SEQUENCE {s}semel_number AS bigint CACHE 1;

-- Messages as they arrived, never updated. Months are partitions by the end of retention, so that old ones are dropped
-- whole. Work carries the message's expires_ms, so that a look at a message goes to one month.
CREATE TABLE {s}semel_messages (
    digest          uuid NOT NULL,
    expires_ms      bigint NOT NULL,
    number          bigint NOT NULL,
    received_ms     bigint NOT NULL,
    version         bigint NOT NULL,
    sequence        bigint,
    topic_offset    bigint,
    topic_partition integer,
    schema_version  bigint,
    tenant          text NOT NULL,
    scope           text NOT NULL,
    key             text NOT NULL,
    fingerprint     bytea NOT NULL,
    lane            text,
    kind            text,
    topic           text,
    headers         bytea,
    payload         bytea NOT NULL,
    PRIMARY KEY (digest, expires_ms)
) PARTITION BY RANGE (expires_ms);
-- For lists, newest first, and for replays.
CREATE INDEX semel_messages_by_number ON {s}semel_messages (scope, version, number);
CREATE TABLE {s}semel_messages_rest PARTITION OF {s}semel_messages DEFAULT;
CREATE INDEX semel_messages_rest_by_end ON {s}semel_messages_rest (expires_ms);

-- What is still to do, or stays for people to see: everything but what is COMPLETED.
--   state        0 RECEIVED, 1 IN_PROGRESS, 3 FAILED_RETRYABLE, 4 FAILED_TERMINAL, 5 PARKED, 6 SKIPPED_DUPLICATE
--   due_ms       when it may be claimed; null for whatever nobody may claim
--   changed_ms   when the state last changed: for what is in progress, when it was claimed
--   deadline_ms  when a wait for a missing version ends; when a skipped row may go
--   lane         the lane that it stands in, if it stands in one; sequence likewise
CREATE TABLE {s}semel_work (
    digest      uuid PRIMARY KEY,
    expires_ms  bigint NOT NULL,
    number      bigint NOT NULL,
    received_ms bigint NOT NULL,
    fence       bigint NOT NULL,
    changed_ms  bigint NOT NULL,
    due_ms      bigint,
    deadline_ms bigint,
    sequence    bigint,
    attempts    integer NOT NULL,
    generation  integer NOT NULL,
    state       smallint NOT NULL,
    replay      boolean NOT NULL,
    stepped     boolean NOT NULL,
    consumer    text NOT NULL,
    fingerprint bytea NOT NULL,
    worker      text,
    lane        text,
    cause       text,
    error       text
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The one index that claims look at. What nobody may claim is not in it.
CREATE INDEX semel_work_ready ON {s}semel_work (consumer, due_ms, number) WHERE due_ms IS NOT NULL;
-- What waits for something else than time, for lists and counts.
CREATE INDEX semel_work_still ON {s}semel_work (consumer, state, number) WHERE due_ms IS NULL;
CREATE INDEX semel_work_lanes ON {s}semel_work (consumer, lane, sequence, number) WHERE lane IS NOT NULL;
CREATE INDEX semel_work_deadlines ON {s}semel_work (consumer, deadline_ms) WHERE deadline_ms IS NOT NULL AND state = 5;
CREATE INDEX semel_work_gaps ON {s}semel_work (consumer, lane) WHERE state = 5 AND cause IN ('gap', 'gap-expired');
CREATE INDEX semel_work_skipped ON {s}semel_work (deadline_ms) WHERE state = 6;

-- How far each lane has come. Whoever changes what stands in a lane holds its row.
--   done   the last sequence that was applied or passed over; -1 if a lane has begun at 0; null if it has no sequence yet
--   stuck  whether messages are parked behind a head that failed
CREATE TABLE {s}semel_lanes (
    consumer text NOT NULL,
    lane     text NOT NULL,
    done     bigint,
    stuck    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (consumer, lane)
) WITH (fillfactor = 70);

-- What did not go as it should: attempts that did not complete, changes of state. Both go with their message, and so do the
-- tables after them; expires_ms says when to look whether it has gone.
CREATE SEQUENCE {s}semel_note AS bigint;
CREATE TABLE {s}semel_attempts (
    id         bigint NOT NULL DEFAULT nextval('{s}semel_note'),
    digest     uuid NOT NULL,
    expires_ms bigint NOT NULL,
    fence      bigint NOT NULL,
    began_ms   bigint NOT NULL,
    ended_ms   bigint NOT NULL,
    generation integer NOT NULL,
    number     integer NOT NULL,
    state      smallint NOT NULL,
    late       boolean NOT NULL,
    worker     text,
    cause      text,
    error      text
);
CREATE INDEX semel_attempts_by_digest ON {s}semel_attempts (digest, id);
CREATE INDEX semel_attempts_by_end ON {s}semel_attempts (expires_ms);

CREATE TABLE {s}semel_transitions (
    id         bigint NOT NULL DEFAULT nextval('{s}semel_note'),
    digest     uuid NOT NULL,
    expires_ms bigint NOT NULL,
    at_ms      bigint NOT NULL,
    fence      bigint NOT NULL,
    generation integer NOT NULL,
    state      smallint NOT NULL,
    cause      text,
    detail     text
);
CREATE INDEX semel_transitions_by_digest ON {s}semel_transitions (digest, id);
CREATE INDEX semel_transitions_by_end ON {s}semel_transitions (expires_ms);

CREATE TABLE {s}semel_steps (
    digest     uuid NOT NULL,
    name       text NOT NULL,
    id         bigint NOT NULL DEFAULT nextval('{s}semel_note'),
    expires_ms bigint NOT NULL,
    result     bytea NOT NULL,
    PRIMARY KEY (digest, name)
);
CREATE INDEX semel_steps_by_end ON {s}semel_steps (expires_ms);

CREATE TABLE {s}semel_duplicates (
    digest     uuid PRIMARY KEY,
    expires_ms bigint NOT NULL,
    last_ms    bigint NOT NULL,
    count      bigint NOT NULL
);
CREATE INDEX semel_duplicates_by_end ON {s}semel_duplicates (expires_ms);

-- How far each source has been received.
CREATE TABLE {s}semel_positions (
    source     text PRIMARY KEY,
    position   text NOT NULL,
    changed_ms bigint NOT NULL
);

-- What people did by hand.
CREATE TABLE {s}semel_audit (
    id        bigint PRIMARY KEY DEFAULT nextval('{s}semel_note'),
    at_ms     bigint NOT NULL,
    actor     text NOT NULL,
    verb      text NOT NULL,
    action    text NOT NULL,
    consumer  text NOT NULL,
    selection text NOT NULL,
    changed   bigint NOT NULL,
    reason    text
);

-- For people with psql: SELECT * FROM semel.semel_inbox.
CREATE VIEW {s}semel_inbox AS
SELECT w.consumer, m.tenant, m.key AS message_id,
       CASE w.state
           WHEN 0 THEN 'RECEIVED'
           WHEN 1 THEN 'IN_PROGRESS'
           WHEN 3 THEN 'FAILED_RETRYABLE'
           WHEN 4 THEN 'FAILED_TERMINAL'
           WHEN 5 THEN 'PARKED'
           ELSE 'SKIPPED_DUPLICATE'
       END AS state,
       w.cause, w.error, w.attempts, w.generation, m.lane, m.sequence, w.worker,
       to_timestamp(w.received_ms / 1000.0) AS received,
       to_timestamp(w.changed_ms / 1000.0) AS changed,
       to_timestamp(w.due_ms / 1000.0) AS due,
       octet_length(m.payload) AS payload_bytes
FROM {s}semel_work w JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms;
