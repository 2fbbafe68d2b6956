-- Lanes in which anything stands.
SELECT i.lane FROM unnest($2::text[]) AS i (lane)
WHERE EXISTS (SELECT FROM {s}semel_work w WHERE w.consumer = $1::text AND w.lane = i.lane)
