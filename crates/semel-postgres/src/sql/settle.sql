-- The happy path: the claim is running and its lease is alive. Whatever is not returned is unusual.
-- Rows are found one by one and then taken by their place: planned while the table is empty, a join would read all of it for ever after. The limit says
-- nothing but lets the planner expect few rows.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms, {brief} AS brief),
asked AS MATERIALIZED (
    SELECT r.at, i.* FROM unnest(
        $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
        $7::bytea[], $8::bytea[], $9::bigint[], $10::bytea[]
    ) AS i (digest, fence, keep_ms, took_ms, flags, status, headers, body, omitted_len, omitted_digest)
    CROSS JOIN LATERAL (SELECT r.ctid AS at FROM {s}semel_records r WHERE r.digest = i.digest OFFSET 0) r
    LIMIT cardinality($1::uuid[])
)
UPDATE {s}semel_records r
SET state = 2, lease_ms = NULL, settled_ms = c.now_ms, expires_ms = c.now_ms + i.keep_ms, took_ms = i.took_ms,
    flags = i.flags, status = i.status, headers = i.headers, body = i.body,
    omitted_len = i.omitted_len, omitted_digest = i.omitted_digest
FROM asked i, clock c
WHERE r.ctid = i.at AND r.digest = i.digest AND r.fence = i.fence AND r.state = 0 AND r.lease_ms > c.now_ms
RETURNING r.digest
