-- The next lanes after one, and those of them that may be forgotten if nothing stands in them, which no other transaction holds.
WITH piece AS MATERIALIZED (
    SELECT l.consumer, l.lane, l.tenant FROM {s}semel_lanes l
    WHERE (l.consumer, l.lane, l.tenant) > ($1::text, $2::text, $3::text)
    ORDER BY l.consumer, l.lane, l.tenant LIMIT $4::bigint
),
held AS MATERIALIZED (
    SELECT l.consumer, l.lane, l.tenant FROM piece p
    JOIN {s}semel_lanes l ON l.consumer = p.consumer AND l.lane = p.lane AND l.tenant = p.tenant
    WHERE l.forget_ms <= (SELECT {now})
    FOR UPDATE OF l SKIP LOCKED
)
SELECT p.consumer, p.lane, p.tenant, h.lane IS NOT NULL
FROM piece p LEFT JOIN held h ON h.consumer = p.consumer AND h.lane = p.lane AND h.tenant = p.tenant
ORDER BY p.consumer, p.lane, p.tenant
