-- What a call with this nonce has claimed, whose answer was lost. Whatever is in progress under a lease that lasts is due in the
-- future; the order makes the plan go by the index of what is due, whatever it was made on.
SELECT w.digest, w.fence, w.attempts, w.generation, w.replay, w.stepped, w.changed_ms, w.due_ms, false, false,
       false, w.lane IS NOT NULL, w.first_ms, w.key_generation, {message}
FROM (
    SELECT * FROM {s}semel_work x
    WHERE x.consumer = $1::text AND x.due_ms > (SELECT {now}) AND x.state = 1 AND x.nonce = $2::bigint AND x.worker = $3::text
    ORDER BY x.due_ms, x.number LIMIT 1024
) w
JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms
ORDER BY w.number
