UPDATE {s}semel_positions p SET position = i.position, changed_ms = $1::bigint
FROM unnest($2::text[], $3::text[], $4::text[]) AS i (source, partition, position)
WHERE p.source = i.source AND p.partition = i.partition
