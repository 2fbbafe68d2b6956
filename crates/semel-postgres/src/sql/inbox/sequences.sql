-- Which sequences above `done` stand in lanes and are not stuck, as ranges without gaps.
SELECT i.lane, r.first, r.last
FROM unnest($2::text[], $3::bigint[]) AS i (lane, done)
CROSS JOIN LATERAL (
    SELECT min(x.sequence) AS first, max(x.sequence) AS last
    FROM (
        SELECT w.sequence, w.sequence - dense_rank() OVER (ORDER BY w.sequence) AS range
        FROM {s}semel_work w
        WHERE w.consumer = $1::text AND w.lane = i.lane AND w.sequence > i.done AND NOT {stuck}
    ) x
    GROUP BY x.range
) r
