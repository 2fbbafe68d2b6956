UPDATE {s}semel_lanes l SET done = i.done, stuck = i.stuck = 1, forget_ms = {now} + $5::bigint
FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS i (lane, done, stuck)
WHERE l.consumer = $1::text AND l.lane = i.lane
