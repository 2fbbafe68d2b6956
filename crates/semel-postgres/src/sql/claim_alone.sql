-- claim.sql for one item, which needs no list.
INSERT INTO {s}semel_records
    (digest, fence, claimed_ms, lease_ms, nonce, state, attempt, version, tenant, scope, key, fingerprint, about)
SELECT $1::uuid, {fence}, c.now_ms, c.now_ms + $7::bigint, $8::bigint, 0, 1,
       $4::bigint, $2::text, $3::text, $5::text, $6::bytea, $9::text
FROM (SELECT {now} AS now_ms, {brief} AS brief) c
WHERE NOT EXISTS (SELECT FROM {s}semel_records r WHERE r.digest = $1::uuid)
ON CONFLICT (digest) DO NOTHING
RETURNING digest, fence, claimed_ms, lease_ms
