-- Pauses a consumer or lets it go on, with a line in the audit. Whatever is returned has changed.
WITH known AS (
    INSERT INTO {s}semel_consumers AS k (consumer, scope, version, since_ms, paused_ms, paused_by, paused_reason)
    SELECT $1::text, $2::text, $3::bigint, {now}, CASE WHEN $4::bigint = 1 THEN {now} END,
           CASE WHEN $4::bigint = 1 THEN $5::text END, CASE WHEN $4::bigint = 1 THEN $6::text END
    WHERE $4::bigint = 1 OR EXISTS (SELECT FROM {s}semel_consumers x WHERE x.consumer = $1::text)
    ON CONFLICT (consumer) DO UPDATE
    SET paused_ms = excluded.paused_ms, paused_by = excluded.paused_by, paused_reason = excluded.paused_reason
    WHERE (k.paused_ms IS NULL) <> (excluded.paused_ms IS NULL)
    RETURNING k.paused_ms IS NOT NULL AS paused
)
INSERT INTO {s}semel_audit (at_ms, actor, verb, action, consumer, selection, changed, reason)
SELECT {now}, $5::text, CASE WHEN $4::bigint = 1 THEN 'inbox pause' ELSE 'inbox resume' END,
       CASE WHEN $4::bigint = 1 THEN 'pause' ELSE 'resume' END, $1::text, 'all', 1, $6::text
FROM known WHERE paused = ($4::bigint = 1)
RETURNING 1
