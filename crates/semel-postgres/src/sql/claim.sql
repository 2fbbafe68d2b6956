-- Grants what is absent. What is not returned is there already, or was committed by somebody else meanwhile: the
-- caller looks at it in another statement, because this one cannot see it. Fences are drawn row by row as rows are
-- inserted. What this statement sees is not tried: a conflict would wait for the transaction that changes that row, and draw a fence for nothing.
-- With an offset that says nothing each item is looked for by itself: planned while the table is empty, a join would read all of it for ever after.
WITH c AS MATERIALIZED (SELECT {now} AS now_ms, {brief} AS brief)
INSERT INTO {s}semel_records
    (digest, fence, claimed_ms, lease_ms, nonce, state, attempt, version, tenant, scope, key, fingerprint, about)
SELECT i.digest, {fence}, c.now_ms, c.now_ms + i.term_ms, i.nonce, 0, 1,
       i.version, i.tenant, i.scope, i.key, i.fingerprint, i.about
FROM c, unnest(
    $1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bytea[], $7::bigint[], $8::bigint[], $9::text[]
) AS i (digest, tenant, scope, version, key, fingerprint, term_ms, nonce, about)
WHERE NOT EXISTS (SELECT FROM {s}semel_records r WHERE r.digest = i.digest OFFSET 0)
ON CONFLICT (digest) DO NOTHING
RETURNING digest, fence, claimed_ms, lease_ms
