-- The record is gone; its fence stays for a while. The sweep is asked to look at what was settled, because its range expects it to last longer.
WITH noted AS (
    INSERT INTO {s}semel_open (fence, digest, look_ms)
    SELECT r.fence, r.digest, 0 FROM {s}semel_records r WHERE r.digest = $1::uuid AND r.fence = $2::bigint AND r.state = 2
    ON CONFLICT DO NOTHING
)
UPDATE {s}semel_records
SET state = 3, lease_ms = NULL, since_ms = NULL, cause = NULL, settled_ms = NULL, expires_ms = $3::bigint,
    took_ms = NULL, flags = NULL, status = NULL, headers = NULL, body = NULL,
    omitted_len = NULL, omitted_digest = NULL
WHERE digest = $1::uuid AND fence = $2::bigint
