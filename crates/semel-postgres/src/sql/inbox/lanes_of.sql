SELECT DISTINCT w.lane, w.tenant FROM unnest($1::uuid[]) AS i (digest)
CROSS JOIN LATERAL (SELECT w.lane, w.tenant FROM {s}semel_work w WHERE w.digest = i.digest OFFSET 0) w
WHERE w.lane IS NOT NULL
