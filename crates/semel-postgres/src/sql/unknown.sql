UPDATE {s}semel_records SET state = 1, lease_ms = NULL, since_ms = $3::bigint, cause = $4::text, evidence = $5::text
WHERE digest = $1::uuid AND fence = $2::bigint
