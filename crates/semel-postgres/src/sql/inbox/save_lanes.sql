UPDATE {s}semel_lanes l SET done = coalesce(i.done, l.done), forget_ms = {now} + $5::bigint
FROM unnest($2::text[], $3::text[], $4::bigint[]) AS i (lane, tenant, done)
WHERE l.consumer = $1::text AND l.lane = i.lane AND l.tenant = i.tenant
