INSERT INTO {s}semel_lanes (consumer, lane, tenant, forget_ms)
SELECT $1::text, i.lane, i.tenant, {now} + $4::bigint FROM unnest($2::text[], $3::text[]) AS i (lane, tenant)
ON CONFLICT DO NOTHING
