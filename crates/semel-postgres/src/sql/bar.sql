-- A vacant row for an operation that this store knows nothing of, with the given fence or a new one.
INSERT INTO {s}semel_records
    (digest, fence, claimed_ms, nonce, state, attempt, version, tenant, scope, key, fingerprint, expires_ms)
SELECT $1::uuid, coalesce($6::bigint, {fence}), c.now_ms, 0, 3, 0, $4::bigint, $2::text, $3::text, $5::text, ''::bytea,
       c.now_ms + $7::bigint
FROM (SELECT {now} AS now_ms) c
ON CONFLICT (digest) DO NOTHING
RETURNING digest
