UPDATE {s}semel_archive
SET flags = flags | 16, headers = NULL, body = NULL, omitted_len = $6::bigint, omitted_digest = $7::bytea, about = NULL
WHERE fence = $1::bigint AND tenant = $2::text AND scope = $3::text AND version = $4::bigint AND key = $5::text
