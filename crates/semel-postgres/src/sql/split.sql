-- The first part of a range that is too long for one walk becomes a range of its own.
INSERT INTO {s}semel_ranges (upto, ends_ms, walk_ms, made_ms, records)
VALUES ($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint)
ON CONFLICT DO NOTHING
