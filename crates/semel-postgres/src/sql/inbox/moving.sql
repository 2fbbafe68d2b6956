-- What is due, running or to be tried again in lanes: two rows tell whether another one than a given one is.
SELECT w.lane, w.tenant, w.sequence, w.number FROM unnest($2::text[], $3::text[]) AS i (lane, tenant)
CROSS JOIN LATERAL (
    SELECT w.lane, w.tenant, w.sequence, w.number FROM {s}semel_work w
    WHERE w.consumer = $1::text AND w.lane = i.lane AND w.tenant = i.tenant AND w.due_ms IS NOT NULL LIMIT 2
) w
