-- Puts messages to work. In the order of digests, so that two batches never wait for each other. Whatever is not returned
-- is there already, or was committed by another transaction meanwhile.
INSERT INTO {s}semel_work
    (digest, expires_ms, number, received_ms, fence, changed_ms, due_ms, deadline_ms, sequence, attempts, generation,
     state, replay, stepped, consumer, fingerprint, lane, cause, tenant, rebuild, first_ms, key_generation, error)
SELECT i.digest, i.expires_ms, i.number, i.received_ms, 0, $2::bigint, i.due_ms, i.deadline_ms, i.sequence, 0, i.generation,
       i.state, $3::bigint >= 1, false, $1::text, i.fingerprint, i.lane, i.cause, i.tenant, $3::bigint = 2,
       -- What ran before may have used its key since it arrived.
       CASE WHEN $3::bigint >= 1 THEN i.received_ms END, i.key_generation, i.error
FROM unnest(
    $4::uuid[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[],
    $12::bigint[], $13::bytea[], $14::text[], $15::text[], $16::text[], $17::bigint[], $18::text[]
) AS i (digest, expires_ms, number, received_ms, due_ms, deadline_ms, sequence, generation, state, fingerprint, lane, cause,
        tenant, key_generation, error)
ON CONFLICT (digest) DO NOTHING
RETURNING digest
