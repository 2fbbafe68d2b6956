-- In the order of digests, so that two transactions never wait for each other.
SELECT {record} FROM {s}semel_records r WHERE r.digest = ANY ($1::uuid[]) ORDER BY r.digest FOR UPDATE
