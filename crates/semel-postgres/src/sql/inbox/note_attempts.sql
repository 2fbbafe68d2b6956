INSERT INTO {s}semel_attempts
    (digest, expires_ms, fence, began_ms, ended_ms, generation, number, state, late, worker, cause, error, answer)
SELECT i.digest, i.expires_ms, i.fence, i.began_ms, i.ended_ms, i.generation, i.number, i.state, i.late = 1, i.worker,
       i.cause, i.error, i.answer
FROM unnest(
    $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[],
    $9::bigint[], $10::text[], $11::text[], $12::text[], $13::bytea[]
) AS i (digest, expires_ms, fence, began_ms, ended_ms, generation, number, state, late, worker, cause, error, answer)
WHERE i.late = 0 OR NOT EXISTS (
    SELECT FROM {s}semel_attempts a WHERE a.digest = i.digest AND a.fence = i.fence AND a.late AND a.state = i.state)
