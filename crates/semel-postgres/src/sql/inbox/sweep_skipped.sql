-- Rows of messages that were passed over, together with their records. One that still marks its place in a lane stays.
WITH old AS MATERIALIZED (
    SELECT w.ctid AS place FROM {s}semel_work w
    WHERE w.state = 6 AND w.deadline_ms <= (SELECT {now}) AND w.lane IS NULL
    ORDER BY w.deadline_ms LIMIT $1::bigint FOR UPDATE SKIP LOCKED
)
DELETE FROM {s}semel_work w USING old WHERE w.ctid = old.place RETURNING 1
