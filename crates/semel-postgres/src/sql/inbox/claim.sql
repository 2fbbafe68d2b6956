-- Claims what is due, the oldest due first and no more bytes than asked for ($7), unless the consumer is paused. What another process
-- is claiming at this moment is passed over. $6 marks what was claimed, so that a call whose answer was lost finds its own.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
due AS MATERIALIZED (
    SELECT w.ctid, w.digest, w.expires_ms, w.due_ms, w.number, w.state, w.fence, w.changed_ms, w.worker, w.attempts, w.replay
    FROM {s}semel_work w
    WHERE w.consumer = $1::text AND w.due_ms <= (SELECT now_ms FROM clock)
      AND NOT EXISTS (SELECT FROM {s}semel_consumers k WHERE k.consumer = $1::text AND k.paused_ms IS NOT NULL)
    ORDER BY w.due_ms, w.number LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
),
-- What another door has settled is not claimed, nor is what holds nothing any more; what a lost worker had is claimed again, or held
-- with $5.
found AS MATERIALIZED (
    SELECT d.*, {message}, octet_length(m.payload)::bigint AS payload_bytes,
           sum(octet_length(m.payload)::bigint) OVER (ORDER BY d.due_ms, d.number) AS bytes_until,
           m.erased_ms IS NOT NULL AS is_erased,
           m.erased_ms IS NOT NULL OR (NOT d.replay AND r.digest IS NOT NULL) AS is_settled,
           d.state = 1 AND $5::bigint = 1 AS is_held
    FROM due d
    JOIN {s}semel_messages m ON m.digest = d.digest AND m.expires_ms = d.expires_ms
    LEFT JOIN LATERAL (
        SELECT r.digest FROM {s}semel_records r
        WHERE r.digest = d.digest AND r.state = 2 AND r.expires_ms > (SELECT now_ms FROM clock) OFFSET 0
    ) r ON true
),
-- What is held keeps its fence, because its owner may know what happened after all. What was lost leaves a line among the attempts.
claimed AS (
    UPDATE {s}semel_work w
    SET fence = CASE WHEN d.is_held THEN w.fence ELSE greatest({fence}, w.fence + 1) END, changed_ms = c.now_ms,
        worker = CASE WHEN d.is_held THEN w.worker ELSE $3::text END,
        state = CASE WHEN d.is_held THEN 5 ELSE 1 END,
        due_ms = CASE WHEN d.is_held THEN NULL ELSE c.now_ms + $4::bigint END,
        attempts = w.attempts + CASE WHEN d.is_held THEN 0 ELSE 1 END,
        cause = CASE WHEN d.is_held THEN 'unknown' END,
        nonce = CASE WHEN d.is_held THEN w.nonce ELSE $6::bigint END,
        first_ms = coalesce(w.first_ms, c.now_ms),
        -- If the process dies now, housekeeping tells the lane.
        deadline_ms = CASE WHEN d.is_held AND w.lane IS NOT NULL THEN c.now_ms END
    FROM found d, clock c
    WHERE w.ctid = d.ctid AND NOT d.is_settled AND (d.bytes_until <= $7::bigint OR d.bytes_until = d.payload_bytes OR d.is_held)
    RETURNING w.digest, w.expires_ms, w.fence, w.attempts, w.generation, w.replay, w.stepped, w.changed_ms, w.due_ms,
              d.due_ms AS was_due_ms, w.number, d.is_held, d.state AS was, d.fence AS was_fence,
              d.changed_ms AS was_claimed_ms, d.worker AS was_worker, d.attempts AS was_attempts,
              w.lane IS NOT NULL AS in_lane, w.first_ms, w.key_generation, d.tenant, d.scope, d.version, d.key, d.fingerprint,
              d.lane, d.sequence, d.kind, d.schema_version, d.topic, d.topic_partition, d.topic_offset, d.headers, d.payload,
              d.received_ms
),
lost AS (
    INSERT INTO {s}semel_attempts
        (digest, expires_ms, fence, began_ms, ended_ms, generation, number, state, late, worker, cause)
    SELECT digest, expires_ms, was_fence, was_claimed_ms, changed_ms, generation, was_attempts,
           CASE WHEN is_held THEN 5 ELSE 0 END, false, was_worker, 'lease-ended'
    FROM claimed WHERE was = 1
),
held AS (
    INSERT INTO {s}semel_transitions (digest, expires_ms, at_ms, fence, generation, state, cause)
    SELECT digest, expires_ms, changed_ms, was_fence, generation, 5, 'unknown' FROM claimed WHERE is_held
)
SELECT x.* FROM (
    SELECT m.digest, m.fence, m.attempts, m.generation, m.replay, m.stepped, m.changed_ms, m.due_ms, m.is_held, m.was = 1,
           0, m.in_lane, m.first_ms, m.key_generation, {message}, m.was_due_ms, m.number AS place
    FROM claimed m
    UNION ALL
    SELECT m.digest, m.fence, m.attempts, 0, m.replay, false, m.changed_ms, m.due_ms, false, false,
           CASE WHEN m.is_erased THEN 2 ELSE 1 END, false, 0, 0, {message}, m.due_ms, m.number
    FROM found m WHERE m.is_settled
) x
ORDER BY x.was_due_ms, x.place
