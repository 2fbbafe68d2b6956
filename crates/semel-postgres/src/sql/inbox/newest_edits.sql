-- The newest edit of each of these messages, which were received at $2.
SELECT DISTINCT ON (e.digest) e.digest, e.version, e.at_ms, e.actor, e.reason, e.headers, e.payload
FROM unnest($1::uuid[], $2::bigint[]) AS i (digest, received_ms)
JOIN {s}semel_edits e ON e.digest = i.digest AND e.at_ms >= i.received_ms
ORDER BY e.digest, e.id DESC
