-- Messages by their ids, in any state, the newest first.
SELECT e.* FROM (
    SELECT {entry}
    FROM unnest($9::uuid[]) AS i (digest)
    JOIN {s}semel_messages m ON m.digest = i.digest
    LEFT JOIN {s}semel_work w ON w.digest = m.digest AND w.expires_ms = m.expires_ms
    LEFT JOIN {s}semel_records r ON r.digest = m.digest AND r.state = 2 AND r.expires_ms > {now} AND w.digest IS NULL
    WHERE {kept}
      AND ($1::bigint IS NULL OR m.number < $1::bigint)
      AND (cardinality($2::bigint[]) = 0 OR coalesce(w.state, 2) = ANY ($2::bigint[]))
      AND ($3::text IS NULL OR m.lane = $3::text)
      AND ($4::text IS NULL OR w.cause = $4::text)
      AND ($6::text IS NULL OR m.tenant = $6::text)
      AND ($7::bigint IS NULL OR m.received_ms >= $7::bigint)
      AND ($8::bigint IS NULL OR m.received_ms < $8::bigint)
) e
ORDER BY e.number DESC LIMIT $5::bigint
