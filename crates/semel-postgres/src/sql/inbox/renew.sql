-- A shorter term than what is left takes no time away. Whatever is not returned has been claimed by somebody else, or is
-- finished. Rows are found one by one and then taken by their place, as in ../settle.sql.
WITH asked AS MATERIALIZED (
    SELECT w.at, i.* FROM unnest($1::uuid[], $2::bigint[]) AS i (digest, fence)
    CROSS JOIN LATERAL (SELECT w.ctid AS at FROM {s}semel_work w WHERE w.digest = i.digest OFFSET 0) w
    LIMIT cardinality($1::uuid[])
)
UPDATE {s}semel_work w
SET due_ms = greatest(w.due_ms, c.now_ms + $3::bigint)
FROM (SELECT {now} AS now_ms) c, asked i
WHERE w.ctid = i.at AND w.digest = i.digest AND w.fence = i.fence AND w.state = 1
RETURNING w.digest, w.fence
