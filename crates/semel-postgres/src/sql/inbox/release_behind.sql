-- Lets go what was parked behind a head that no longer is in front of it: up to the next one that is stuck, if there is one.
WITH released AS (
    UPDATE {s}semel_work w
    SET state = 0, cause = NULL, changed_ms = $5::bigint
    FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS i (lane, sequence, number)
    WHERE w.consumer = $1::text AND w.lane = i.lane AND w.due_ms IS NULL AND w.state = 5 AND w.cause = 'behind-failed'
      AND (i.number IS NULL OR (coalesce(w.sequence, 0), w.number) < (coalesce(i.sequence, 0), i.number))
    RETURNING w.digest, w.expires_ms, w.fence, w.generation
)
INSERT INTO {s}semel_transitions (digest, expires_ms, at_ms, fence, generation, state, cause)
SELECT digest, expires_ms, $5::bigint, fence, generation, 0, 'head-done' FROM released
