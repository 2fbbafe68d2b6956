INSERT INTO {s}semel_positions (source, position, changed_ms) VALUES ($1::text, $2::text, $3::bigint)
ON CONFLICT (source) DO UPDATE SET position = excluded.position, changed_ms = excluded.changed_ms
