-- Forgets what is no longer open.
DELETE FROM {s}semel_open WHERE fence IN (
    SELECT o.fence FROM {s}semel_open o
    LEFT JOIN {s}semel_records r ON r.digest = o.digest AND r.fence = o.fence AND r.state < 2
    WHERE r.digest IS NULL ORDER BY o.fence LIMIT $1::bigint
)
RETURNING 1
