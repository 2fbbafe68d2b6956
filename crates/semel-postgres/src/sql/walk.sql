-- The next piece of the walk over all records, by their fences. Nothing is locked. What is open and was missed, because it was
-- committed long after its fence was drawn, is noted in passing.
WITH piece AS MATERIALIZED (
    SELECT fence, digest, state, state IN (2, 3) AND expires_ms <= {now} AS is_due
    FROM {s}semel_records WHERE fence > $1::bigint ORDER BY fence LIMIT $2::bigint
),
noted AS (
    INSERT INTO {s}semel_open (fence, digest)
    SELECT fence, digest FROM piece WHERE state < 2 AND fence <= {followed} ON CONFLICT DO NOTHING
)
SELECT fence, digest, is_due FROM piece ORDER BY fence
