SELECT {archived_whole} FROM {s}semel_archive r
WHERE r.fence = $1::bigint AND r.tenant = $2::text AND r.scope = $3::text AND r.version = $4::bigint AND r.key = $5::text
