-- A shorter term than what is left takes no time away. Whatever is not returned has lost its lease.
UPDATE {s}semel_records r
SET lease_ms = greatest(r.lease_ms, c.now_ms + i.term_ms)
FROM (SELECT {now} AS now_ms) c,
     unnest($1::uuid[], $2::bigint[], $3::bigint[]) AS i (digest, fence, term_ms)
WHERE r.digest = i.digest AND r.fence = i.fence AND r.state = 0 AND r.lease_ms > c.now_ms
RETURNING r.digest, r.lease_ms
