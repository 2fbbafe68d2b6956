-- lock.sql without those that another transaction holds.
SELECT {record} FROM {s}semel_records r WHERE r.digest = ANY ($1::uuid[]) ORDER BY r.digest FOR UPDATE SKIP LOCKED
