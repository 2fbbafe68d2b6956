-- A shorter term than what is left takes no time away. Whatever is not returned has been claimed by somebody else, or is
-- finished.
UPDATE {s}semel_work w
SET due_ms = greatest(w.due_ms, c.now_ms + $3::bigint)
FROM (SELECT {now} AS now_ms) c, unnest($1::uuid[], $2::bigint[]) AS i (digest, fence)
WHERE w.digest = i.digest AND w.fence = i.fence AND w.state = 1
RETURNING w.digest, w.fence
