-- The newest epochs of positions, which no reader takes until the transaction ends. In one order, so that two transactions never wait
-- for each other.
SELECT p.source, p.partition, p.epoch FROM {s}semel_positions p
JOIN unnest($1::text[], $2::text[]) AS i (source, partition) ON p.source = i.source AND p.partition = i.partition
ORDER BY p.source COLLATE "C", p.partition COLLATE "C" FOR UPDATE OF p
