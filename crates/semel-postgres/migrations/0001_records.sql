-- {s} stands for the schema.

CREATE TABLE {s}semel_meta (
    name  text PRIMARY KEY,
    value bigint NOT NULL
);

-- Every session must see the next number: a cached range would let a later claim draw a lower fence.
CREATE SEQUENCE {s}semel_fence AS bigint CACHE 1;

-- One row per operation. A claim inserts it, a settle updates it in place: nothing that a settle changes is in
-- an index, and the free space that the fill factor leaves takes the outcome, so the update is a HOT one.
--   digest   the first 16 bytes of the identity's BLAKE3; the whole identity is compared on a match
--   state    0 running, 1 unknown, 2 settled, 3 vacant
--   nonce    drawn by the claimer, which knows its claim by it when the answer was lost
--   flags    1 = failed, 2 = archive when retention ends, 4 = took the place of a bar
-- A body that was not kept is null, and its length and digest stand in omitted_*.
-- A vacant row was released, resolved or erased, or bars older claims. It is nobody's record; it keeps its fence
-- for a while, so that the next claim of the identity draws a higher one under the row's lock.
CREATE TABLE {s}semel_records (
    digest         uuid PRIMARY KEY,
    fence          bigint NOT NULL,
    claimed_ms     bigint NOT NULL,
    lease_ms       bigint,
    nonce          bigint NOT NULL,
    state          smallint NOT NULL,
    attempt        integer NOT NULL,
    version        bigint NOT NULL,
    tenant         text NOT NULL,
    scope          text NOT NULL,
    key            text NOT NULL,
    fingerprint    bytea NOT NULL,
    since_ms       bigint,
    cause          text,
    expires_ms     bigint,
    settled_ms     bigint,
    took_ms        bigint,
    flags          smallint,
    status         integer,
    headers        bytea,
    body           bytea,
    omitted_len    bigint,
    omitted_digest bytea
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.05);

-- For lists, newest first, and for the sweep's walk.
CREATE INDEX semel_records_by_fence ON {s}semel_records (fence);

-- What is running or unknown: a handful of rows that say at once what a large table would have to be searched for. It
-- follows from semel_records, and no claim waits for it: the sweep notes what is still open a few seconds after its claim, and
-- forgets what no longer is. Whoever asks looks at these and at the claims that came after.
CREATE TABLE {s}semel_open (
    fence  bigint PRIMARY KEY,
    digest uuid NOT NULL
);

-- Only what is unusual leaves a row here. Months are partitions, so that old ones are dropped whole.
CREATE SEQUENCE {s}semel_event AS bigint;
CREATE TABLE {s}semel_history (
    id             bigint NOT NULL DEFAULT nextval('{s}semel_event'),
    digest         uuid NOT NULL,
    at_ms          bigint NOT NULL,
    fence          bigint NOT NULL,
    event          text NOT NULL,
    detail         text,
    from_fence     bigint,
    fingerprint    bytea,
    flags          smallint,
    status         integer,
    headers        bytea,
    body           bytea,
    omitted_len    bigint,
    omitted_digest bytea
) PARTITION BY RANGE (at_ms);
CREATE INDEX semel_history_by_digest ON {s}semel_history (digest, id);
CREATE INDEX semel_history_late ON {s}semel_history (digest) WHERE event = 'late-outcome';
CREATE TABLE {s}semel_history_rest PARTITION OF {s}semel_history DEFAULT;

-- Records whose retention ended and that were to be archived, by the month of that end.
CREATE TABLE {s}semel_archive (
    fence          bigint NOT NULL,
    claimed_ms     bigint NOT NULL,
    attempt        integer NOT NULL,
    version        bigint NOT NULL,
    tenant         text NOT NULL,
    scope          text NOT NULL,
    key            text NOT NULL,
    fingerprint    bytea NOT NULL,
    expires_ms     bigint NOT NULL,
    settled_ms     bigint NOT NULL,
    took_ms        bigint NOT NULL,
    flags          smallint NOT NULL,
    status         integer NOT NULL,
    headers        bytea,
    body           bytea,
    omitted_len    bigint,
    omitted_digest bytea
) PARTITION BY RANGE (expires_ms);
CREATE INDEX semel_archive_by_fence ON {s}semel_archive (fence);
CREATE TABLE {s}semel_archive_rest PARTITION OF {s}semel_archive DEFAULT;

-- For people with psql: SELECT * FROM semel.semel_overview.
CREATE VIEW {s}semel_overview AS
SELECT tenant, scope || '@' || version AS scope, key,
       CASE state
           WHEN 0 THEN 'running'
           WHEN 1 THEN 'unknown'
           ELSE CASE WHEN flags & 1 = 1 THEN 'failed' ELSE 'succeeded' END
       END AS state,
       fence, attempt,
       to_timestamp(claimed_ms / 1000.0) AS claimed,
       to_timestamp(lease_ms / 1000.0) AS lease_until,
       to_timestamp(settled_ms / 1000.0) AS settled,
       to_timestamp(expires_ms / 1000.0) AS expires,
       status, coalesce(omitted_len, octet_length(body)) AS body_bytes
FROM {s}semel_records WHERE state <> 3;
