-- Keeps outcomes of operations that this store knows nothing of. Whatever is not returned is looked at under its lock.
WITH item AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bytea[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bytea[], $15::bytea[],
        $16::bigint[], $17::bytea[], $18::text[]
    ) AS i (digest, tenant, scope, version, key, fingerprint, fence, attempt,
            claimed_ms, keep_ms, took_ms, flags, status, headers, body, omitted_len, omitted_digest, about)
)
INSERT INTO {s}semel_records
    (digest, fence, claimed_ms, nonce, state, attempt, version, tenant, scope, key, fingerprint, expires_ms,
     settled_ms, took_ms, flags, status, headers, body, omitted_len, omitted_digest, about)
SELECT i.digest, i.fence, least(i.claimed_ms, c.now_ms), 0, 2, i.attempt, i.version, i.tenant, i.scope, i.key,
       i.fingerprint, c.now_ms + i.keep_ms, c.now_ms, i.took_ms, i.flags, i.status, i.headers, i.body,
       i.omitted_len, i.omitted_digest, i.about
FROM (SELECT {now} AS now_ms) c, item i
ON CONFLICT (digest) DO NOTHING
RETURNING digest
