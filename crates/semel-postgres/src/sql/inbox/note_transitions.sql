INSERT INTO {s}semel_transitions (digest, expires_ms, at_ms, fence, generation, state, cause, detail, key_generation)
SELECT i.digest, i.expires_ms, i.at_ms, i.fence, i.generation, i.state, i.cause, i.detail, i.key_generation
FROM unnest(
    $1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::bigint[]
) AS i (digest, expires_ms, at_ms, fence, generation, state, cause, detail, key_generation)
