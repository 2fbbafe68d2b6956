-- Counts arrivals of what was known. A count that is past its end belonged to an earlier message of the same id.
INSERT INTO {s}semel_duplicates AS d (digest, expires_ms, last_ms, count)
SELECT i.digest, $2::bigint, $1::bigint, i.count FROM unnest($3::uuid[], $4::bigint[]) AS i (digest, count)
ON CONFLICT (digest) DO UPDATE
SET count = excluded.count + CASE WHEN d.expires_ms <= $1::bigint THEN 0 ELSE d.count END,
    last_ms = excluded.last_ms, expires_ms = greatest(d.expires_ms, excluded.expires_ms)
