SELECT {record} FROM {s}semel_open o JOIN {s}semel_records r ON r.digest = o.digest AND r.fence = o.fence
WHERE NOT o.is_unknown AND r.state = 0 AND r.lease_ms <= {now}
ORDER BY r.digest LIMIT $1::bigint FOR UPDATE OF r SKIP LOCKED
