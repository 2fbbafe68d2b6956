-- Follows the claims at a distance, each once, and notes those that are still open. It stops at the first that is too young:
-- a claim with a lower fence may be about to be committed.
WITH piece AS MATERIALIZED (
    SELECT r.fence, r.digest, r.state, r.claimed_ms > {now} - 10000 AS is_young FROM {s}semel_records r
    WHERE r.fence > {followed} ORDER BY r.fence LIMIT $1::bigint
),
old AS MATERIALIZED (
    SELECT fence, digest, state FROM piece
    WHERE fence < coalesce((SELECT min(fence) FROM piece WHERE is_young), 9223372036854775807)
),
noted AS (
    INSERT INTO {s}semel_open (fence, digest) SELECT fence, digest FROM old WHERE state < 2 ON CONFLICT DO NOTHING
)
INSERT INTO {s}semel_meta (name, value) SELECT 'open_fence', max(fence) FROM old HAVING max(fence) IS NOT NULL
ON CONFLICT (name) DO UPDATE SET value = excluded.value
RETURNING (SELECT count(*) FROM old)
