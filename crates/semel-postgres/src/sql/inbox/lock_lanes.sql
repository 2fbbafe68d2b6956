-- In one order, so that two transactions never wait for each other.
SELECT l.lane, l.tenant, l.done FROM {s}semel_lanes l
JOIN unnest($2::text[], $3::text[]) AS i (lane, tenant) ON l.lane = i.lane AND l.tenant = i.tenant
WHERE l.consumer = $1::text
ORDER BY l.lane COLLATE "C", l.tenant COLLATE "C" FOR UPDATE OF l
