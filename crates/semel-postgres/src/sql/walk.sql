-- The next piece of the walk over all records, by their fences. Nothing is locked.
SELECT fence, digest, state IN (2, 3) AND expires_ms <= {now}
FROM {s}semel_records WHERE fence > $1::bigint ORDER BY fence LIMIT $2::bigint
