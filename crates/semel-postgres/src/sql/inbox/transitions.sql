SELECT at_ms, state, cause, detail FROM {s}semel_transitions WHERE digest = $1::uuid AND at_ms >= $2::bigint ORDER BY id
