INSERT INTO {s}semel_audit (at_ms, actor, verb, action, consumer, selection, changed, reason)
VALUES ($1::bigint, $2::text, $3::text, $4::text, $5::text, $6::text, $7::bigint, $8::text)
