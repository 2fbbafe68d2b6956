-- What stands in front in each lane. Nothing is locked: what waits in a lane changes only under the lane's own lock.
SELECT w.* FROM unnest($2::text[]) AS i (lane)
CROSS JOIN LATERAL (
    SELECT {work} FROM {s}semel_work w
    WHERE w.consumer = $1::text AND w.lane = i.lane
    ORDER BY w.sequence, w.number LIMIT $3::bigint
) w
