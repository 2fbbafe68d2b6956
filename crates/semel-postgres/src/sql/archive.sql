INSERT INTO {s}semel_archive
SELECT fence, claimed_ms, attempt, version, tenant, scope, key, fingerprint, expires_ms, settled_ms, took_ms,
       flags, status, headers, body, omitted_len, omitted_digest, about
FROM {s}semel_records WHERE digest = $1::uuid AND fence = $2::bigint
