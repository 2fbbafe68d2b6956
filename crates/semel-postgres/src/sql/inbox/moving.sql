-- Lanes in which something is due, running or to be tried again.
SELECT i.lane FROM unnest($2::text[]) AS i (lane)
WHERE EXISTS (
    SELECT FROM {s}semel_work w WHERE w.consumer = $1::text AND w.lane = i.lane AND w.due_ms IS NOT NULL)
