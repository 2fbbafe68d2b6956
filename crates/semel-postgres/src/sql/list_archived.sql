SELECT {archived}, {now} FROM {s}semel_archive r
WHERE ($1::bigint IS NULL OR r.fence < $1::bigint)
  AND ($2::text IS NULL OR r.tenant = $2::text)
  AND ($3::text IS NULL OR (r.scope = $3::text AND r.version = $4::bigint))
  AND ($7::text IS NULL OR r.key = $7::text)
  AND ($8::text IS NULL OR starts_with(coalesce(r.about, r.scope), $8::text || ' '))
  AND $5::bigint IS NULL
ORDER BY r.fence DESC LIMIT $6::bigint
