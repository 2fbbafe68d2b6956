-- settle.sql for one item, which needs no list.
UPDATE {s}semel_records r
SET state = 2, lease_ms = NULL, settled_ms = c.now_ms, expires_ms = c.now_ms + $3::bigint, took_ms = $4::bigint,
    flags = $5::bigint, status = $6::bigint, headers = $7::bytea, body = $8::bytea,
    omitted_len = $9::bigint, omitted_digest = $10::bytea
FROM (SELECT {now} AS now_ms, {brief} AS brief) c
WHERE r.digest = $1::uuid AND r.fence = $2::bigint AND r.state = 0 AND r.lease_ms > c.now_ms
RETURNING r.digest
