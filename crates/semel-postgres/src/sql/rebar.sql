UPDATE {s}semel_records
SET fence = $3::bigint, state = 3, expires_ms = $4::bigint, lease_ms = NULL, since_ms = NULL, cause = NULL,
    settled_ms = NULL, took_ms = NULL, flags = NULL, status = NULL, headers = NULL, body = NULL,
    omitted_len = NULL, omitted_digest = NULL, about = NULL, evidence = NULL
WHERE digest = $1::uuid AND fence = $2::bigint
