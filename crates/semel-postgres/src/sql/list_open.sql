-- What is running or unknown, without a look at the rest.
SELECT {listed}, {now} FROM {open} o JOIN {s}semel_records r ON r.digest = o.digest AND r.fence = o.fence
WHERE ($1::bigint IS NULL OR o.fence < $1::bigint)
  AND ($2::text IS NULL OR r.tenant = $2::text)
  AND ($3::text IS NULL OR (r.scope = $3::text AND r.version = $4::bigint))
  AND ($7::text IS NULL OR r.key = $7::text)
  AND ($8::text IS NULL OR starts_with(coalesce(r.about, r.scope), $8::text || ' '))
  AND r.state < 2 AND (r.state = 0 AND r.lease_ms > {now}) = ($5::bigint = 1)
ORDER BY o.fence DESC LIMIT $6::bigint
