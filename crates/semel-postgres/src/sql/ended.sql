SELECT {record} FROM {open} o JOIN {s}semel_records r ON r.digest = o.digest AND r.fence = o.fence
WHERE r.state = 0 AND r.lease_ms <= {now}
ORDER BY r.digest LIMIT $1::bigint FOR UPDATE OF r SKIP LOCKED
