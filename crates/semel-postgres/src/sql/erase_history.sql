-- Of a late outcome verdict, status and length are left, of an unknown one its cause.
UPDATE {s}semel_history
SET note = CASE event WHEN 'late-outcome' THEN note END,
    omitted_len = CASE event WHEN 'late-outcome' THEN coalesce(omitted_len, octet_length(body), 0) END,
    headers = NULL, body = NULL, omitted_digest = NULL
WHERE digest = $1::uuid AND event IN ('late-outcome', 'became-unknown')
