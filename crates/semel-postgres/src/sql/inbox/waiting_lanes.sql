-- Lanes in which messages wait for others, that with the oldest of them first: the row at the head that is no mark, how many wait behind
-- it, and since when. The oldest that wait are looked up in the index of what stands still.
WITH waiting AS MATERIALIZED (
    (SELECT w.lane, w.tenant, w.number, w.received_ms FROM {s}semel_work w
     WHERE w.consumer = $1::text AND w.due_ms IS NULL AND w.state = 0 AND w.lane IS NOT NULL
     ORDER BY w.number LIMIT $2::bigint)
    UNION ALL
    (SELECT w.lane, w.tenant, w.number, w.received_ms FROM {s}semel_work w
     WHERE w.consumer = $1::text AND w.due_ms IS NULL AND w.state = 5 AND w.lane IS NOT NULL
       AND w.cause IN ('gap', 'gap-expired', 'behind-failed')
     ORDER BY w.number LIMIT $2::bigint)
),
places AS MATERIALIZED (
    SELECT x.lane, x.tenant, min(x.number) AS first, min(x.received_ms) AS oldest_ms FROM waiting x
    GROUP BY x.lane, x.tenant ORDER BY min(x.number) LIMIT $3::bigint
)
SELECT {entry}, b.count, p.oldest_ms
FROM places p
CROSS JOIN LATERAL (
    SELECT x.digest, x.sequence, x.number FROM {s}semel_work x
    WHERE x.consumer = $1::text AND x.lane = p.lane AND x.tenant = p.tenant AND x.state <> 6
    ORDER BY x.sequence, x.number LIMIT 1
) h
CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM (
        SELECT FROM {s}semel_work x
        WHERE x.consumer = $1::text AND x.lane = p.lane AND x.tenant = p.tenant
          AND (x.sequence, x.number) > (h.sequence, h.number) AND x.due_ms IS NULL
          AND (x.state = 0 OR (x.state = 5 AND x.cause IN ('gap', 'gap-expired', 'behind-failed')))
        LIMIT $2::bigint
    ) y
) b
JOIN {s}semel_work w ON w.digest = h.digest
JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms
LEFT JOIN {s}semel_records r ON false
ORDER BY p.first
