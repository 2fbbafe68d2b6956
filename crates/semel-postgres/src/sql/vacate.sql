-- The record is gone; its fence stays for a while.
UPDATE {s}semel_records
SET state = 3, lease_ms = NULL, since_ms = NULL, cause = NULL, settled_ms = NULL, expires_ms = $3::bigint,
    took_ms = NULL, flags = NULL, status = NULL, headers = NULL, body = NULL,
    omitted_len = NULL, omitted_digest = NULL, about = NULL, evidence = NULL
WHERE digest = $1::uuid AND fence = $2::bigint
