UPDATE {s}semel_records SET lease_ms = $3::bigint WHERE digest = $1::uuid AND fence = $2::bigint
