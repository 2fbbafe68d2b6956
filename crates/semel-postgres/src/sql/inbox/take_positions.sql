-- Makes the caller the owner of positions. In the order of partitions, so that two transactions never wait for each other.
INSERT INTO {s}semel_positions AS p (source, partition, epoch, changed_ms)
SELECT $1::text, i.partition, 1, {now} FROM unnest($2::text[]) AS i (partition) ORDER BY i.partition COLLATE "C"
ON CONFLICT (source, partition) DO UPDATE SET epoch = p.epoch + 1, changed_ms = excluded.changed_ms
RETURNING p.partition, p.position, p.epoch
