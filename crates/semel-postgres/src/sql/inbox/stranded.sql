-- What still waits in a lane of a consumer that has no order any more.
SELECT w.digest, w.lane FROM {s}semel_work w
WHERE w.consumer = $1::text AND w.lane IS NOT NULL AND w.due_ms IS NULL
LIMIT $2::bigint
