-- Settles the records of messages that were passed over, under a fence of their own: what an owner brings later is late.
INSERT INTO {s}semel_records AS r
    (digest, fence, claimed_ms, nonce, state, attempt, version, tenant, scope, key, fingerprint, expires_ms,
     settled_ms, took_ms, flags, status)
SELECT w.digest, {fence}, w.changed_ms, 0, 2,
       greatest(w.attempts, 1), m.version, m.tenant, m.scope, m.key, w.fingerprint, $2::bigint + $3::bigint, $2::bigint,
       0, $4::bigint, 0
FROM {s}semel_work w JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms
WHERE w.digest = ANY ($1::uuid[])
ORDER BY w.digest
{settled_anew}
