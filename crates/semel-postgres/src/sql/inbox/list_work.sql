-- Messages that are not completed, the newest first, without a look at those that are.
WITH found AS MATERIALIZED (
    SELECT f.digest, f.number FROM {s}semel_consumers k
    CROSS JOIN unnest($3::bigint[]) AS s (state)
    CROSS JOIN LATERAL (
        SELECT w.digest, w.number FROM {s}semel_work w
        JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms
        WHERE w.consumer = k.consumer AND w.due_ms IS NULL AND w.state = s.state
          AND ($2::bigint IS NULL OR w.number < $2::bigint)
          AND ($4::text IS NULL OR m.lane = $4::text)
          AND ($5::text IS NULL OR w.cause = $5::text)
          AND ($7::text IS NULL OR m.tenant = $7::text)
          AND ($8::bigint IS NULL OR w.received_ms >= $8::bigint)
          AND ($9::bigint IS NULL OR w.received_ms < $9::bigint)
        ORDER BY w.number DESC LIMIT $6::bigint
    ) f
    WHERE $1::text IS NULL OR k.consumer = $1::text
    UNION ALL
    SELECT f.digest, f.number FROM {s}semel_consumers k
    CROSS JOIN LATERAL (
        SELECT w.digest, w.number FROM {s}semel_work w
        JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms
        WHERE w.consumer = k.consumer AND w.due_ms IS NOT NULL AND w.state = ANY ($3::bigint[])
          AND ($2::bigint IS NULL OR w.number < $2::bigint)
          AND ($4::text IS NULL OR m.lane = $4::text)
          AND ($5::text IS NULL OR w.cause = $5::text)
          AND ($7::text IS NULL OR m.tenant = $7::text)
          AND ($8::bigint IS NULL OR w.received_ms >= $8::bigint)
          AND ($9::bigint IS NULL OR w.received_ms < $9::bigint)
        ORDER BY w.number DESC LIMIT $6::bigint
    ) f
    WHERE $1::text IS NULL OR k.consumer = $1::text
    ORDER BY number DESC LIMIT $6::bigint
)
SELECT {entry}
FROM found f
JOIN {s}semel_work w ON w.digest = f.digest
JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms
LEFT JOIN {s}semel_records r ON false
ORDER BY m.number DESC
