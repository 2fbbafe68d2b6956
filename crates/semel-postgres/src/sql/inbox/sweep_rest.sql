-- Messages that are in no month of their own.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
old AS MATERIALIZED (
    SELECT m.ctid AS place FROM {s}semel_messages_rest m
    WHERE m.expires_ms <= (SELECT now_ms FROM clock)
      AND NOT EXISTS (SELECT FROM {s}semel_work w WHERE w.digest = m.digest AND w.expires_ms = m.expires_ms)
      AND NOT EXISTS (SELECT FROM {s}semel_records r
                      WHERE r.digest = m.digest AND r.state = 2 AND r.expires_ms > (SELECT now_ms FROM clock))
    ORDER BY m.expires_ms LIMIT $1::bigint FOR UPDATE OF m SKIP LOCKED
)
DELETE FROM {s}semel_messages_rest m USING old WHERE m.ctid = old.place RETURNING 1
