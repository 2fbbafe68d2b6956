-- What a call with this nonce has claimed, whose answer was lost. Whatever is in progress under a lease that lasts is due in the future.
SELECT w.digest, w.fence, w.attempts, w.generation, w.replay, w.stepped, w.changed_ms, w.due_ms, false, false,
       false, w.lane, w.first_ms, w.key_generation, {message}
FROM {s}semel_work w JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms
WHERE w.consumer = $1::text AND w.due_ms > (SELECT {now}) AND w.state = 1 AND w.nonce = $2::bigint AND w.worker = $3::text
ORDER BY w.number
