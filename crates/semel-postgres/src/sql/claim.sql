-- Grants what is absent and returns what is there, in one round trip. A row of a claim that is being committed at
-- this very moment is neither: the caller looks again. Fences are drawn row by row as rows are inserted.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
item AS MATERIALIZED (
    SELECT * FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::bytea[], $7::bigint[], $8::bigint[]
    ) AS i (digest, tenant, scope, version, key, fingerprint, term_ms, nonce)
),
found AS MATERIALIZED (
    SELECT {record} FROM item i JOIN {s}semel_records r ON r.digest = i.digest
),
granted AS (
    INSERT INTO {s}semel_records AS r
        (digest, fence, claimed_ms, lease_ms, nonce, state, attempt, version, tenant, scope, key, fingerprint)
    SELECT i.digest, nextval('{s}semel_fence'), c.now_ms, c.now_ms + i.term_ms, i.nonce, 0, 1,
           i.version, i.tenant, i.scope, i.key, i.fingerprint
    FROM item i CROSS JOIN clock c
    WHERE NOT EXISTS (SELECT FROM found f WHERE f.digest = i.digest)
    ORDER BY i.digest
    ON CONFLICT (digest) DO NOTHING
    RETURNING {record}
),
opened AS (
    INSERT INTO {s}semel_open (fence, digest) SELECT fence, digest FROM granted
)
SELECT granted.*, c.now_ms FROM granted, clock c
UNION ALL
SELECT found.*, c.now_ms FROM found, clock c
