-- One operation is spread over small tables by how its parts are written:
--   keys      one entry per operation at a random place (the digest is random): kept tiny,
--             because every random insert writes a whole page
--   claims    appended in fence order, never updated
--   leases    only what is running or unknown: a handful of rows, updated in place
--   outcomes  appended when settled, never updated
-- So a first-time claim + settle dirties one random page and otherwise only the ends of tables.

CREATE TABLE semel_meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

-- digest: the first 16 bytes of the identity's BLAKE3; the whole identity is compared on a match.
CREATE TABLE semel_keys (
    digest BLOB PRIMARY KEY,
    fence  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE semel_claims (
    fence       INTEGER PRIMARY KEY,
    tenant      TEXT NOT NULL,
    scope       TEXT NOT NULL,
    version     INTEGER NOT NULL,
    key         TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    attempt     INTEGER NOT NULL,
    claimed_ms  INTEGER NOT NULL
);

-- cause is null while the lease runs; with a cause the outcome is unknown since since_ms.
CREATE TABLE semel_leases (
    fence    INTEGER PRIMARY KEY,
    until_ms INTEGER NOT NULL,
    since_ms INTEGER,
    cause    TEXT
);

-- flags: 1 = failed, 2 = archive when retention ends. A body that was not kept is null,
-- and its length and digest stand in omitted_*.
CREATE TABLE semel_outcomes (
    fence          INTEGER PRIMARY KEY,
    expires_ms     INTEGER NOT NULL,
    settled_ms     INTEGER NOT NULL,
    took_ms        INTEGER NOT NULL,
    flags          INTEGER NOT NULL,
    status         INTEGER NOT NULL,
    headers        BLOB,
    body           BLOB,
    omitted_len    INTEGER,
    omitted_digest BLOB
);

CREATE INDEX semel_outcomes_by_expiry ON semel_outcomes (expires_ms);

-- Only what is unusual leaves a row here.
CREATE TABLE semel_history (
    id             INTEGER PRIMARY KEY,
    digest         BLOB NOT NULL,
    at_ms          INTEGER NOT NULL,
    fence          INTEGER NOT NULL,
    event          TEXT NOT NULL,
    detail         TEXT,
    from_fence     INTEGER,
    fingerprint    BLOB,
    flags          INTEGER,
    status         INTEGER,
    headers        BLOB,
    body           BLOB,
    omitted_len    INTEGER,
    omitted_digest BLOB
);

CREATE INDEX semel_history_by_digest ON semel_history (digest, id);

CREATE TABLE semel_archive (
    fence          INTEGER PRIMARY KEY,
    tenant         TEXT NOT NULL,
    scope          TEXT NOT NULL,
    version        INTEGER NOT NULL,
    key            TEXT NOT NULL,
    fingerprint    BLOB NOT NULL,
    attempt        INTEGER NOT NULL,
    claimed_ms     INTEGER NOT NULL,
    expires_ms     INTEGER NOT NULL,
    settled_ms     INTEGER NOT NULL,
    took_ms        INTEGER NOT NULL,
    flags          INTEGER NOT NULL,
    status         INTEGER NOT NULL,
    headers        BLOB,
    body           BLOB,
    omitted_len    INTEGER,
    omitted_digest BLOB
);

-- For people with the sqlite3 tool: SELECT * FROM semel_records.
CREATE VIEW semel_records AS
SELECT c.tenant, c.scope || '@' || c.version AS scope, c.key,
       CASE
           WHEN o.fence IS NOT NULL THEN iif(o.flags & 1, 'failed', 'succeeded')
           WHEN l.cause IS NOT NULL THEN 'unknown'
           ELSE 'running'
       END AS state,
       c.fence, c.attempt,
       datetime(c.claimed_ms / 1000, 'unixepoch') AS claimed,
       datetime(l.until_ms / 1000, 'unixepoch') AS lease_until,
       datetime(o.settled_ms / 1000, 'unixepoch') AS settled,
       datetime(o.expires_ms / 1000, 'unixepoch') AS expires,
       o.status, coalesce(length(o.body), o.omitted_len) AS body_bytes
FROM semel_claims c
LEFT JOIN semel_leases l USING (fence)
LEFT JOIN semel_outcomes o USING (fence);
