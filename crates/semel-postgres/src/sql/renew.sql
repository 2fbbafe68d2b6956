-- A shorter term than what is left takes no time away. Whatever is not returned has lost its lease.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
item AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS i (digest, fence, term_ms)
)
UPDATE {s}semel_records r
SET lease_ms = greatest(r.lease_ms, c.now_ms + i.term_ms)
FROM item i CROSS JOIN clock c
WHERE r.digest = i.digest AND r.fence = i.fence AND r.state = 0 AND r.lease_ms > c.now_ms
RETURNING r.digest, r.lease_ms
