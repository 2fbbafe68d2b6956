-- The first rows of lanes. Nothing is locked: what waits in a lane changes only under the lane's own lock.
SELECT w.* FROM unnest($2::text[], $3::text[]) AS i (lane, tenant)
CROSS JOIN LATERAL (
    SELECT {work} FROM {s}semel_work w
    WHERE w.consumer = $1::text AND w.lane = i.lane AND w.tenant = i.tenant
    ORDER BY w.sequence, w.number LIMIT $4::bigint
) w
