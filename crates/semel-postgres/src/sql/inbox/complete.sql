-- The happy path: the claim is the one that the row has, in progress or held as unknown. Work goes, the record comes; a record that is there already, because
-- the message is replayed or came through another door, stays as it is. Rows are found one by one and then taken by their place, as in ../settle.sql; one that a heartbeat moves at this
-- moment is not returned, and takes the slower way.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
asked AS MATERIALIZED (
    SELECT w.at, i.* FROM unnest(
        $4::uuid[], $5::bigint[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[],
        $11::bytea[], $12::bytea[], $13::bigint[], $14::bytea[]
    ) AS i (digest, fence, tenant, key, took_ms, flags, status, headers, body, omitted_len, omitted_digest)
    CROSS JOIN LATERAL (SELECT w.ctid AS at FROM {s}semel_work w WHERE w.digest = i.digest OFFSET 0) w
    LIMIT cardinality($4::uuid[])
),
gone AS (
    DELETE FROM {s}semel_work w USING asked i
    WHERE w.ctid = i.at AND w.digest = i.digest AND w.fence = i.fence
      AND (w.state = 1 OR (w.state = 5 AND w.cause = 'unknown'))
    RETURNING w.digest, w.fence, w.changed_ms, w.attempts, w.generation, w.expires_ms, w.fingerprint, w.replay, w.lane,
              w.sequence, i.tenant, i.key, i.took_ms, i.flags, i.status, i.headers, i.body, i.omitted_len, i.omitted_digest
),
settled AS (
    INSERT INTO {s}semel_records AS r
        (digest, fence, claimed_ms, nonce, state, attempt, version, tenant, scope, key, fingerprint, expires_ms,
         settled_ms, took_ms, flags, status, headers, body, omitted_len, omitted_digest)
    SELECT g.digest, g.fence, g.changed_ms, 0, 2, g.attempts, $2::bigint, g.tenant, $1::text, g.key, g.fingerprint,
           c.now_ms + $3::bigint, c.now_ms, g.took_ms, g.flags, g.status, g.headers, g.body, g.omitted_len, g.omitted_digest
    FROM gone g, clock c
    {settled_anew}
),
replayed AS (
    INSERT INTO {s}semel_transitions (digest, expires_ms, at_ms, fence, generation, state, cause)
    SELECT g.digest, g.expires_ms, c.now_ms, g.fence, g.generation, 2, 'replayed' FROM gone g, clock c WHERE g.replay
)
SELECT g.digest, g.lane, g.sequence FROM gone g
