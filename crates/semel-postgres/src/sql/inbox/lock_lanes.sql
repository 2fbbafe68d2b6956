-- In one order, so that two transactions never wait for each other.
SELECT l.lane, l.done, l.stuck FROM {s}semel_lanes l
WHERE l.consumer = $1::text AND l.lane = ANY ($2::text[])
ORDER BY l.lane COLLATE "C" FOR UPDATE
