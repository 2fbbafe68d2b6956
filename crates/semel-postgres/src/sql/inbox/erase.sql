-- Erases what messages hold. Their fingerprints, their places and who decided what stay. Why a message could not be read may quote it.
-- What a newer message of the same id has left since it was received is that one's own.
WITH gone AS MATERIALIZED (
    SELECT i.digest, i.expires_ms, n.received_ms AS next_ms, n.expires_ms AS next_expires_ms
    FROM unnest($1::uuid[], $2::bigint[]) AS i (digest, expires_ms)
    CROSS JOIN LATERAL (
        SELECT x.number FROM {s}semel_messages x WHERE x.digest = i.digest AND x.expires_ms = i.expires_ms OFFSET 0
    ) m
    LEFT JOIN LATERAL (
        SELECT x.received_ms, x.expires_ms FROM {s}semel_messages x
        WHERE x.digest = i.digest AND x.number > m.number ORDER BY x.number LIMIT 1
    ) n ON true
),
messages AS (
    UPDATE {s}semel_messages m SET payload = ''::bytea, headers = NULL, erased_ms = $3::bigint
    FROM unnest($1::uuid[], $2::bigint[]) AS i (digest, expires_ms)
    WHERE m.digest = i.digest AND m.expires_ms = i.expires_ms
),
edits AS (
    DELETE FROM {s}semel_edits e USING gone g WHERE e.digest = g.digest AND (g.next_ms IS NULL OR e.at_ms < g.next_ms)
),
steps AS (
    DELETE FROM {s}semel_steps s USING gone g
    WHERE s.digest = g.digest AND (g.next_expires_ms IS NULL OR s.expires_ms < g.next_expires_ms)
),
attempts AS (
    UPDATE {s}semel_attempts a SET error = NULL, answer = NULL
    FROM gone g WHERE a.digest = g.digest AND (g.next_ms IS NULL OR a.ended_ms < g.next_ms)
)
UPDATE {s}semel_transitions t SET detail = NULL
FROM gone g WHERE t.digest = g.digest AND t.cause = 'unreadable' AND (g.next_ms IS NULL OR t.at_ms < g.next_ms)
