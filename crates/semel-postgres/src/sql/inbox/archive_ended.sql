-- The records that new ones are about to replace. Locked, so that the sweep does not archive them too.
WITH ended AS MATERIALIZED (
    SELECT fence, claimed_ms, attempt, version, tenant, scope, key, fingerprint, expires_ms, settled_ms, took_ms,
           flags, status, headers, body, omitted_len, omitted_digest
    FROM {s}semel_records
    WHERE digest = ANY ($1::uuid[]) AND state = 2 AND flags & 2 = 2 AND expires_ms <= {now}
    ORDER BY digest FOR UPDATE
)
INSERT INTO {s}semel_archive SELECT * FROM ended
