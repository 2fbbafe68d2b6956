-- Messages that are completed and still kept, the oldest first.
SELECT {selected}, false
FROM {s}semel_messages m
LEFT JOIN {s}semel_work w ON w.digest = m.digest
JOIN {s}semel_records r ON r.digest = m.digest AND r.state = 2 AND r.expires_ms > {now}
WHERE m.scope = $1::text AND m.version = $2::bigint AND w.digest IS NULL AND {kept}
  AND ($3::text IS NULL OR m.lane = $3::text)
  AND ($4::bigint IS NULL OR m.received_ms >= $4::bigint)
  AND ($5::bigint IS NULL OR m.received_ms < $5::bigint)
  AND ($6::text IS NULL OR m.tenant = $6::text)
  AND ($8::bigint IS NULL OR r.settled_ms <= $8::bigint)
ORDER BY m.number LIMIT $7::bigint
