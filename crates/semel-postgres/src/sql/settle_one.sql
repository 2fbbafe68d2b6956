UPDATE {s}semel_records
SET state = 2, lease_ms = NULL, since_ms = NULL, cause = NULL, evidence = NULL, settled_ms = $3::bigint, expires_ms = $4::bigint,
    took_ms = $5::bigint, flags = $6::bigint | (coalesce(flags, 0) & 4), status = $7::bigint, headers = $8::bytea, body = $9::bytea,
    omitted_len = $10::bigint, omitted_digest = $11::bytea
WHERE digest = $1::uuid AND fence = $2::bigint
