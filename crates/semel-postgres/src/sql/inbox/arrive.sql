-- The time and the number of a batch of arrivals. Asked after the lanes are locked: what arrives later has a higher number.
WITH known AS (
    INSERT INTO {s}semel_consumers (consumer, scope, version, since_ms)
    VALUES ($1::text, $2::text, $3::bigint, {now}) ON CONFLICT DO NOTHING
),
theirs AS (
    INSERT INTO {s}semel_tenants (consumer, tenant)
    SELECT $1::text, i.tenant FROM unnest($4::text[]) AS i (tenant) ON CONFLICT DO NOTHING
)
SELECT {now}, nextval('{s}semel_number')
