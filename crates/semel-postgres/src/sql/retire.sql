-- Deletes what retention no longer protects among the first $3 records with fences above $1 and up to $2, at most $4 of them. What another transaction holds at
-- this moment is left for the next time. A record that took the place of a bar leaves the bar behind. With $6, what is open and was missed,
-- because it was committed long after its fence was drawn, is noted in passing.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
piece AS MATERIALIZED (
    SELECT p.*, p.state >= 2 AND p.expires_ms <= (SELECT now_ms FROM clock) AS is_due FROM (
        SELECT r.ctid AS place, r.fence, r.digest, r.state, r.lease_ms, r.expires_ms FROM {s}semel_records r
        WHERE r.fence > $1::bigint ORDER BY r.fence LIMIT $3::bigint
    ) p WHERE p.fence <= $2::bigint
),
due AS MATERIALIZED (
    SELECT r.ctid AS place, r.state, r.state = 2 AND r.flags & 2 = 2 AS is_archived, r.state = 2 AND r.flags & 4 = 4 AS is_barred
    FROM (SELECT p.place FROM piece p WHERE p.is_due ORDER BY p.fence LIMIT $4::bigint) p
    JOIN {s}semel_records r ON r.ctid = p.place
    WHERE r.state >= 2 AND r.expires_ms <= (SELECT now_ms FROM clock)
    FOR UPDATE OF r SKIP LOCKED
),
archived AS (
    INSERT INTO {s}semel_archive
    SELECT r.fence, r.claimed_ms, r.attempt, r.version, r.tenant, r.scope, r.key, r.fingerprint, r.expires_ms, r.settled_ms,
           r.took_ms, r.flags, r.status, r.headers, r.body, r.omitted_len, r.omitted_digest, r.about
    FROM due d JOIN {s}semel_records r ON r.ctid = d.place WHERE d.is_archived
    RETURNING 1
),
barred AS (
    UPDATE {s}semel_records r
    SET state = 3, expires_ms = c.now_ms + $5::bigint, settled_ms = NULL, took_ms = NULL, flags = NULL, status = NULL,
        headers = NULL, body = NULL, omitted_len = NULL, omitted_digest = NULL, about = NULL
    FROM due d, clock c WHERE r.ctid = d.place AND d.is_barred
    RETURNING 1
),
deleted AS (
    DELETE FROM {s}semel_records r USING due d WHERE r.ctid = d.place AND NOT d.is_barred RETURNING r.state
),
noted AS (
    INSERT INTO {s}semel_open (fence, digest, look_ms)
    SELECT p.fence, p.digest, coalesce(p.lease_ms, c.now_ms) FROM piece p, clock c WHERE p.state < 2 AND $6::bigint = 1
    ON CONFLICT DO NOTHING
)
SELECT (SELECT count(*) FROM archived),
       (SELECT count(*) FROM deleted WHERE state = 2),
       (SELECT count(*) FROM barred),
       (SELECT count(*) FROM deleted),
       (SELECT count(*) FROM piece WHERE is_due),
       (SELECT count(*) FROM piece),
       (SELECT max(fence) FROM piece),
       (SELECT min(expires_ms) FROM piece WHERE state >= 2 AND NOT is_due),
       (SELECT now_ms FROM clock)
