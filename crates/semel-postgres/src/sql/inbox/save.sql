-- Writes rows back that were changed under their own or their lane's lock. Rows are found one by one and then taken by their
-- place, as in ../settle.sql. What was claimed since it was looked at stays as it is, and so does a lease that was renewed.
WITH asked AS MATERIALIZED (
    SELECT w.at, i.* FROM unnest(
        $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bigint[],
        $17::bigint[], $18::bigint[], $19::bigint[]
    ) AS i (digest, changed_ms, due_ms, deadline_ms, sequence, attempts, generation, state, replay, stepped,
            worker, lane, cause, error, tenant, first_ms, key_generation, rebuild, fence)
    CROSS JOIN LATERAL (SELECT w.ctid AS at FROM {s}semel_work w WHERE w.digest = i.digest OFFSET 0) w
    LIMIT cardinality($1::uuid[])
)
UPDATE {s}semel_work w
SET changed_ms = i.changed_ms, due_ms = CASE WHEN i.state = 1 THEN greatest(w.due_ms, i.due_ms) ELSE i.due_ms END,
     deadline_ms = i.deadline_ms, sequence = i.sequence,
    attempts = i.attempts, generation = i.generation, state = i.state, replay = i.replay = 1, stepped = i.stepped = 1,
    worker = i.worker, lane = i.lane, cause = i.cause, error = i.error, tenant = i.tenant, first_ms = i.first_ms,
    key_generation = i.key_generation, rebuild = i.rebuild = 1
FROM asked i
WHERE w.ctid = i.at AND w.digest = i.digest AND w.fence = i.fence
