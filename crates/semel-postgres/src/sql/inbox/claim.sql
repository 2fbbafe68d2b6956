-- Claims what is due, the oldest due first. What somebody else is claiming at this moment is passed over. A row in progress
-- whose lease has ended is claimed like any other and leaves a line among the attempts; with $5 it is parked instead, and
-- its lane hears of it when it is tended.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
due AS MATERIALIZED (
    SELECT w.ctid, w.due_ms, w.number, w.state, w.fence, w.changed_ms, w.worker, w.attempts,
           w.state = 1 AND $5::bigint = 1 AS is_held
    FROM {s}semel_work w
    WHERE w.consumer = $1::text AND w.due_ms <= (SELECT now_ms FROM clock)
    ORDER BY w.due_ms, w.number LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE {s}semel_work w
    SET fence = greatest({fence}, w.fence + 1), changed_ms = c.now_ms, worker = CASE WHEN d.is_held THEN w.worker ELSE $3::text END,
        state = CASE WHEN d.is_held THEN 5 ELSE 1 END,
        due_ms = CASE WHEN d.is_held THEN NULL ELSE c.now_ms + $4::bigint END,
        attempts = w.attempts + CASE WHEN d.is_held THEN 0 ELSE 1 END,
        cause = CASE WHEN d.is_held THEN 'unknown' END,
        deadline_ms = CASE WHEN d.is_held AND w.lane IS NOT NULL THEN c.now_ms END
    FROM due d, clock c
    WHERE w.ctid = d.ctid
    RETURNING w.digest, w.expires_ms, w.fence, w.attempts, w.generation, w.replay, w.stepped, w.changed_ms, w.due_ms,
              d.due_ms AS was_due_ms, w.number, d.is_held, d.state AS was, d.fence AS was_fence,
              d.changed_ms AS was_claimed_ms, d.worker AS was_worker, d.attempts AS was_attempts
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
SELECT c.digest, c.fence, c.attempts, c.generation, c.replay, c.stepped, c.changed_ms, c.due_ms, c.is_held, c.was = 1,
       {message}
FROM claimed c JOIN {s}semel_messages m ON m.digest = c.digest AND m.expires_ms = c.expires_ms
ORDER BY c.was_due_ms, c.number
