-- Deletes what retention no longer protects; what somebody holds at this moment is left for the next time.
WITH due AS MATERIALIZED (
    SELECT digest FROM {s}semel_records
    WHERE digest = ANY ($1::uuid[]) AND state IN (2, 3) AND expires_ms <= {now}
    ORDER BY digest FOR UPDATE SKIP LOCKED
),
archived AS (
    INSERT INTO {s}semel_archive
    SELECT fence, claimed_ms, attempt, version, tenant, scope, key, fingerprint, expires_ms, settled_ms, took_ms,
           flags, status, headers, body, omitted_len, omitted_digest
    FROM {s}semel_records JOIN due USING (digest) WHERE state = 2 AND flags & 2 = 2
    RETURNING 1
),
deleted AS (
    DELETE FROM {s}semel_records r USING due WHERE r.digest = due.digest RETURNING r.state
)
SELECT (SELECT count(*) FROM archived), (SELECT count(*) FROM deleted WHERE state = 2)
