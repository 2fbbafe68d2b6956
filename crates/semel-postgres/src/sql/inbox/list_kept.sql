-- Messages in any state, the newest first.
SELECT e.* FROM {s}semel_consumers k
CROSS JOIN LATERAL (
    SELECT {entry}
    FROM {s}semel_messages m
    LEFT JOIN {s}semel_work w ON w.digest = m.digest AND w.expires_ms = m.expires_ms
    LEFT JOIN {s}semel_records r ON r.digest = m.digest AND r.state = 2 AND r.expires_ms > {now} AND w.digest IS NULL
    WHERE m.scope = k.scope AND m.version = k.version AND ($2::bigint IS NULL OR m.number < $2::bigint)
      AND {kept}
      AND (cardinality($3::bigint[]) = 0 OR coalesce(w.state, 2) = ANY ($3::bigint[]))
      AND ($4::text IS NULL OR m.lane = $4::text)
      AND ($5::text IS NULL OR w.cause = $5::text)
      AND ($7::text IS NULL OR m.tenant = $7::text)
      AND ($8::bigint IS NULL OR m.received_ms >= $8::bigint)
      AND ($9::bigint IS NULL OR m.received_ms < $9::bigint)
    ORDER BY m.number DESC LIMIT $6::bigint
) e
WHERE $1::text IS NULL OR k.consumer = $1::text
ORDER BY e.number DESC LIMIT $6::bigint
