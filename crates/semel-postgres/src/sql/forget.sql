-- Old events that are in no month of their own. A late outcome stays as long as its record does.
WITH old AS MATERIALIZED (
    SELECT h.id, h.at_ms FROM {s}semel_history_rest h
    WHERE h.at_ms < $1::bigint AND NOT (h.event = 'late-outcome' AND EXISTS (
        SELECT FROM {s}semel_records r WHERE r.digest = h.digest AND r.state <> 3))
    ORDER BY h.at_ms LIMIT $2::bigint FOR UPDATE SKIP LOCKED
)
DELETE FROM {s}semel_history_rest h USING old WHERE h.id = old.id RETURNING 1
