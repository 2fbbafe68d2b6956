SELECT generation, number, fence, worker, began_ms, ended_ms, state, cause, error, late, answer
FROM {s}semel_attempts WHERE digest = $1::uuid AND ended_ms >= $2::bigint ORDER BY id
