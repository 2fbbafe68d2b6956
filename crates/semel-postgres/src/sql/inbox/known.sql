-- What is known about messages: work that is still there, and records that suppress. Asked again after work was inserted:
-- an insert may have waited for a finish of the same message, whose record only a new statement sees. Rows are looked up one by
-- one: planned while a table is empty, a join would read all of it for ever after. Only of what is completed the message itself is asked
-- when it was received; how long a run took, and when it ended, is told once nothing runs.
SELECT i.digest, w.state, w.fingerprint, r.fingerprint, coalesce(w.received_ms, m.received_ms, r.claimed_ms),
       CASE WHEN coalesce(w.state, 2) IN (2, 6) THEN r.took_ms END,
       CASE WHEN coalesce(w.state, 2) IN (2, 6) THEN r.settled_ms END
FROM unnest($1::uuid[]) AS i (digest)
LEFT JOIN LATERAL (
    SELECT w.state, w.fingerprint, w.received_ms FROM {s}semel_work w WHERE w.digest = i.digest OFFSET 0
) w ON true
LEFT JOIN LATERAL (
    SELECT r.fingerprint, r.claimed_ms, r.took_ms, r.settled_ms FROM {s}semel_records r
    WHERE r.digest = i.digest AND r.state = 2 AND r.expires_ms > $2::bigint OFFSET 0
) r ON true
LEFT JOIN LATERAL (
    SELECT x.received_ms FROM {s}semel_messages x
    WHERE x.digest = i.digest AND w.state IS NULL AND r.fingerprint IS NOT NULL
    ORDER BY x.number DESC LIMIT 1
) m ON true
WHERE w.state IS NOT NULL OR r.fingerprint IS NOT NULL
