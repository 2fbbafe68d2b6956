-- What has waited too long for a missing version, or was parked because its worker was lost.
SELECT w.digest, w.lane FROM {s}semel_work w
WHERE w.consumer = $1::text AND w.deadline_ms <= (SELECT {now}) AND w.deadline_ms IS NOT NULL AND w.state = 5
  AND w.lane IS NOT NULL
ORDER BY w.deadline_ms LIMIT $2::bigint
