-- Deletes what retention no longer protects; what somebody holds at this moment is left for the next time. A record that
-- took the place of a bar leaves the bar behind.
WITH due AS MATERIALIZED (
    SELECT digest, state = 2 AND flags & 4 = 4 AS is_barred FROM {s}semel_records
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
barred AS (
    UPDATE {s}semel_records r
    SET state = 3, expires_ms = {now} + $2::bigint, settled_ms = NULL, took_ms = NULL, flags = NULL, status = NULL,
        headers = NULL, body = NULL, omitted_len = NULL, omitted_digest = NULL
    FROM due WHERE r.digest = due.digest AND due.is_barred
    RETURNING 1
),
deleted AS (
    DELETE FROM {s}semel_records r USING due WHERE r.digest = due.digest AND NOT due.is_barred RETURNING r.state
)
SELECT (SELECT count(*) FROM archived),
       (SELECT count(*) FROM deleted WHERE state = 2) + (SELECT count(*) FROM barred)
