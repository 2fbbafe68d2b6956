INSERT INTO {s}semel_meta (name, value) VALUES ('sweep_fence', $1::bigint)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
