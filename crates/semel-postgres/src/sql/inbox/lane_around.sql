-- The rows right before spots of lanes, and those at and right after them; on which side they are of which spot.
SELECT w.*, i.at, false FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS i (lane, tenant, sequence, number, at)
CROSS JOIN LATERAL (
    SELECT {work} FROM {s}semel_work w
    WHERE w.consumer = $1::text AND w.lane = i.lane AND w.tenant = i.tenant
      AND (w.sequence, w.number) < (i.sequence, i.number)
    ORDER BY w.sequence DESC, w.number DESC LIMIT $7::bigint
) w
UNION ALL
SELECT w.*, i.at, true FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
    AS i (lane, tenant, sequence, number, at)
CROSS JOIN LATERAL (
    SELECT {work} FROM {s}semel_work w
    WHERE w.consumer = $1::text AND w.lane = i.lane AND w.tenant = i.tenant
      AND (w.sequence, w.number) >= (i.sequence, i.number)
    ORDER BY w.sequence, w.number LIMIT $7::bigint
) w
