-- What stands in lanes in which something waits for a missing version, as ranges without gaps.
SELECT g.lane, g.tenant, l.done, r.first, r.last, r.count, r.deadline_ms
FROM (
    SELECT DISTINCT w.lane, w.tenant FROM {s}semel_work w
    WHERE w.consumer = $1::text AND w.state = 5 AND w.cause IN ('gap', 'gap-expired') AND w.lane IS NOT NULL
    ORDER BY w.lane, w.tenant LIMIT $2::bigint
) g
JOIN {s}semel_lanes l ON l.consumer = $1::text AND l.lane = g.lane AND l.tenant = g.tenant
CROSS JOIN LATERAL (
    SELECT min(x.sequence) AS first, max(x.sequence) AS last, count(*) AS count, min(x.deadline_ms) AS deadline_ms
    FROM (
        SELECT w.sequence, w.deadline_ms, w.sequence - dense_rank() OVER (ORDER BY w.sequence) AS range
        FROM {s}semel_work w
        WHERE w.consumer = $1::text AND w.lane = g.lane AND w.tenant = g.tenant AND w.sequence > coalesce(l.done, -1)
    ) x
    GROUP BY x.range ORDER BY 1 LIMIT $3::bigint
) r
ORDER BY g.lane, g.tenant, r.first
