-- An outcome in the place of a row that no longer counts.
UPDATE {s}semel_records
SET fence = $3::bigint, claimed_ms = $4::bigint, attempt = $5::bigint, fingerprint = $6::bytea, nonce = 0, state = 2,
    lease_ms = NULL, since_ms = NULL, cause = NULL, settled_ms = $7::bigint, expires_ms = $8::bigint,
    took_ms = $9::bigint, flags = $10::bigint, status = $11::bigint, headers = $12::bytea, body = $13::bytea,
    omitted_len = $14::bigint, omitted_digest = $15::bytea, about = $16::text, evidence = NULL
WHERE digest = $1::uuid AND fence = $2::bigint
