-- Messages that still hold something and have no work of their own, the oldest first. No record need speak of them: records end or are
-- purged, ids are received again, and the contents lie there until their month is dropped.
SELECT {selected}, false
FROM {s}semel_messages m
LEFT JOIN {s}semel_work w ON w.digest = m.digest AND w.expires_ms = m.expires_ms
WHERE m.scope = $1::text AND m.version = $2::bigint AND w.digest IS NULL AND m.erased_ms IS NULL
  AND ($3::text IS NULL OR m.lane = $3::text)
  AND ($4::bigint IS NULL OR m.received_ms >= $4::bigint)
  AND ($5::bigint IS NULL OR m.received_ms < $5::bigint)
  AND ($6::text IS NULL OR m.tenant = $6::text)
  AND ($8::bigint IS NULL OR NOT EXISTS (
      SELECT FROM {s}semel_records r WHERE r.digest = m.digest AND r.state = 2 AND r.settled_ms > $8::bigint))
ORDER BY m.number LIMIT $7::bigint
