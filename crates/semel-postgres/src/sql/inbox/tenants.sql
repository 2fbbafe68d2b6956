SELECT tenant FROM {s}semel_tenants WHERE consumer = $1::text LIMIT $2::bigint
