SELECT {listed}, {now} FROM {s}semel_records r
WHERE r.state <> 3 AND ($1::bigint IS NULL OR r.fence < $1::bigint)
  AND ($2::text IS NULL OR r.tenant = $2::text)
  AND ($3::text IS NULL OR (r.scope = $3::text AND r.version = $4::bigint))
  AND ($7::text IS NULL OR r.key = $7::text)
  AND ($8::text IS NULL OR starts_with(coalesce(r.about, r.scope), $8::text || ' '))
  AND NOT (r.state = 2 AND r.expires_ms <= {now})
  AND ($5::bigint IS NULL OR (r.state = 2 AND ($5::bigint = 2 OR r.flags & 1 = $5::bigint)))
ORDER BY r.fence DESC LIMIT $6::bigint
