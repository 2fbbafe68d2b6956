-- Forgets lanes that are held and in which nothing stands.
DELETE FROM {s}semel_lanes l USING unnest($1::text[], $2::text[], $3::text[]) AS i (consumer, lane, tenant)
WHERE l.consumer = i.consumer AND l.lane = i.lane AND l.tenant = i.tenant
  AND NOT EXISTS (SELECT FROM {s}semel_work w WHERE w.consumer = i.consumer AND w.lane = i.lane AND w.tenant = i.tenant)
