-- What belongs to messages that are past their retention. What somebody still waits for, or a record still speaks of, is
-- looked at again later.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
old AS MATERIALIZED (
    SELECT t.ctid AS place, t.digest FROM {s}{table} t WHERE t.expires_ms <= (SELECT now_ms FROM clock)
    ORDER BY t.expires_ms LIMIT $1::bigint FOR UPDATE SKIP LOCKED
),
judged AS MATERIALIZED (
    SELECT o.place, EXISTS (SELECT FROM {s}semel_work w WHERE w.digest = o.digest)
        OR EXISTS (SELECT FROM {s}semel_records r
                   WHERE r.digest = o.digest AND r.state = 2 AND r.expires_ms > c.now_ms) AS is_needed
    FROM old o, clock c
),
later AS (
    UPDATE {s}{table} t SET expires_ms = c.now_ms + 3600000
    FROM judged j, clock c WHERE t.ctid = j.place AND j.is_needed
),
gone AS (
    DELETE FROM {s}{table} t USING judged j WHERE t.ctid = j.place AND NOT j.is_needed RETURNING 1
)
SELECT (SELECT count(*) FROM old), (SELECT count(*) FROM gone)
