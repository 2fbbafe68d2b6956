SELECT digest, version, at_ms, actor, reason, headers, payload
FROM {s}semel_edits WHERE digest = $1::uuid AND at_ms >= $2::bigint ORDER BY id
