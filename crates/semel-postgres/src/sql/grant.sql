-- A takeover, or a new claim in the place of a record that no longer counts.
UPDATE {s}semel_records
SET fence = $3::bigint, claimed_ms = $4::bigint, lease_ms = $5::bigint, nonce = $6::bigint, state = 0,
    attempt = $7::bigint, fingerprint = $8::bytea, since_ms = NULL, cause = NULL, expires_ms = NULL,
    settled_ms = NULL, took_ms = NULL, flags = NULL, status = NULL, headers = NULL, body = NULL,
    omitted_len = NULL, omitted_digest = NULL, about = $9::text, evidence = NULL
WHERE digest = $1::uuid AND fence = $2::bigint
