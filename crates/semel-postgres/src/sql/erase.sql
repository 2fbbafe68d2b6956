-- The record stays as it is, without what was asked and answered.
UPDATE {s}semel_records
SET flags = flags | 16, headers = NULL, body = NULL, omitted_len = $3::bigint, omitted_digest = $4::bytea, about = NULL
WHERE digest = $1::uuid AND fence = $2::bigint AND state = 2
