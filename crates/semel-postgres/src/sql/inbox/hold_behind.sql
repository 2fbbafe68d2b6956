-- Parks what waits behind a head that is stuck. Messages in order of arrival have no sequence here.
WITH held AS (
    UPDATE {s}semel_work w
    SET state = 5, cause = 'behind-failed', deadline_ms = NULL, changed_ms = $5::bigint
    FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS i (lane, sequence, number)
    WHERE w.consumer = $1::text AND w.lane = i.lane AND w.due_ms IS NULL
      AND (coalesce(w.sequence, 0), w.number) > (coalesce(i.sequence, 0), i.number)
      AND (w.state = 0 OR (w.state = 5 AND w.cause IN ('gap', 'gap-expired')))
    RETURNING w.digest, w.expires_ms, w.fence, w.generation
)
INSERT INTO {s}semel_transitions (digest, expires_ms, at_ms, fence, generation, state, cause)
SELECT digest, expires_ms, $5::bigint, fence, generation, 5, 'behind-failed' FROM held
