-- The newest message of an id with what became of it, if it is known.
SELECT {entry}, {message}, m.erased_ms
FROM (SELECT * FROM {s}semel_messages WHERE digest = $1::uuid ORDER BY number DESC LIMIT 1) m
LEFT JOIN {s}semel_work w ON w.digest = m.digest AND w.expires_ms = m.expires_ms
LEFT JOIN {s}semel_records r ON r.digest = m.digest AND r.state = 2 AND r.expires_ms > {now} AND w.digest IS NULL
WHERE w.digest IS NOT NULL OR r.digest IS NOT NULL
