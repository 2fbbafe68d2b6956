-- In the order of digests, so that two transactions never wait for each other.
SELECT {work} FROM {s}semel_work w WHERE w.digest = ANY ($1::uuid[]) ORDER BY w.digest FOR UPDATE
