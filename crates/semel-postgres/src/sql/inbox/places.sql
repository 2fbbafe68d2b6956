-- Of which consumers and tenants there are messages.
SELECT t.consumer, t.tenant FROM {s}semel_tenants t
WHERE ($1::text IS NULL OR t.consumer = $1::text) AND ($2::text IS NULL OR t.tenant = $2::text)
LIMIT $3::bigint
