-- A shorter term than what is left takes no time away. Whatever is not returned has lost its lease. Rows are found as in settle.sql.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms, {brief} AS brief),
asked AS MATERIALIZED (
    SELECT r.at, i.* FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS i (digest, fence, term_ms)
    CROSS JOIN LATERAL (SELECT r.ctid AS at FROM {s}semel_records r WHERE r.digest = i.digest OFFSET 0) r
    LIMIT cardinality($1::uuid[])
)
UPDATE {s}semel_records r
SET lease_ms = greatest(r.lease_ms, c.now_ms + i.term_ms)
FROM asked i, clock c
WHERE r.ctid = i.at AND r.digest = i.digest AND r.fence = i.fence AND r.state = 0 AND r.lease_ms > c.now_ms
RETURNING r.digest, r.lease_ms
