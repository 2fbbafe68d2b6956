-- The sweep is asked to look at what is no longer settled, because its range expects it to last longer.
INSERT INTO {s}semel_open (digest, fence, look_ms) VALUES ($1::uuid, $2::bigint, 0)
ON CONFLICT (fence) DO UPDATE SET look_ms = 0
