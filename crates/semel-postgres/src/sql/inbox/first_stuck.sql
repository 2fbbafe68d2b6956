-- The first of each lane that failed for good or is parked.
SELECT i.lane, f.sequence, f.number
FROM unnest($2::text[]) AS i (lane)
CROSS JOIN LATERAL (
    SELECT w.sequence, w.number FROM {s}semel_work w
    WHERE w.consumer = $1::text AND w.lane = i.lane AND {stuck}
    ORDER BY w.sequence, w.number LIMIT 1
) f
