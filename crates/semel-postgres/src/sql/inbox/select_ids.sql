-- Messages by their ids, whatever their state: the newest of each id that is still known, or, to be erased ($8), all that hold something.
-- A record without its message is all that is left of one.
SELECT {selected}, false
FROM unnest($1::uuid[]) AS i (digest)
CROSS JOIN LATERAL (
    SELECT x.*, row_number() OVER (ORDER BY x.number DESC) = 1 AS is_newest
    FROM {s}semel_messages x WHERE x.digest = i.digest
    ORDER BY x.number DESC LIMIT CASE WHEN $8::bigint = 1 THEN NULL ELSE 1 END
) m
LEFT JOIN {s}semel_work w ON w.digest = m.digest AND w.expires_ms = m.expires_ms
LEFT JOIN {s}semel_records r ON r.digest = m.digest AND r.state = 2 AND r.expires_ms > {now} AND w.digest IS NULL
WHERE (w.digest IS NOT NULL OR r.digest IS NOT NULL OR $8::bigint = 1) AND (m.is_newest OR m.erased_ms IS NULL)
  AND (cardinality($2::bigint[]) = 0 OR coalesce(w.state, 2) = ANY ($2::bigint[]))
  AND ($3::text IS NULL OR m.lane = $3::text)
  AND ($4::text IS NULL OR w.cause = $4::text)
  AND ($5::bigint IS NULL OR m.received_ms >= $5::bigint)
  AND ($6::bigint IS NULL OR m.received_ms < $6::bigint)
  AND ($7::bigint IS NULL OR coalesce(w.changed_ms, r.settled_ms, m.received_ms) <= $7::bigint)
UNION ALL
SELECT r.digest, 0, 0, r.claimed_ms, r.tenant, r.scope, r.version, r.key, r.fingerprint, NULL, NULL, NULL, NULL, false, true
FROM unnest($1::uuid[]) AS i (digest)
JOIN {s}semel_records r ON r.digest = i.digest AND r.state = 2 AND r.expires_ms > {now}
WHERE NOT EXISTS (SELECT FROM {s}semel_messages m WHERE m.digest = i.digest)
  AND (cardinality($2::bigint[]) = 0 OR 2 = ANY ($2::bigint[]))
  AND $3::text IS NULL AND $4::text IS NULL AND $5::bigint IS NULL AND $6::bigint IS NULL
  AND ($7::bigint IS NULL OR r.settled_ms <= $7::bigint)
