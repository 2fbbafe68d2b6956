-- Keeps what an operator made of a message that was received at $3.
INSERT INTO {s}semel_edits (digest, expires_ms, at_ms, version, actor, reason, headers, payload)
SELECT $1::uuid, $2::bigint, $4::bigint, coalesce(max(e.version), 0) + 1, $5::text, $6::text, $7::bytea, $8::bytea
FROM {s}semel_edits e WHERE e.digest = $1::uuid AND e.at_ms >= $3::bigint
