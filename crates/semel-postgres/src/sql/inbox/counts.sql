-- How many of each consumer are in which state. What is due is in one index, what is not in another; each is counted up to a
-- limit, and a count that has reached it is the least there may be.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms)
SELECT k.consumer, d.received + still.received, d.running, d.stale, d.failed, still.terminal, still.parked, still.skipped,
       least(d.oldest, still.oldest), k.paused_ms, k.paused_by, k.paused_reason,
       (greatest(d.counted, still.received, still.terminal, still.parked, still.skipped) >= $1::bigint)::int::bigint
FROM {s}semel_consumers k
CROSS JOIN clock c
CROSS JOIN LATERAL (
    SELECT count(*) AS counted, count(*) FILTER (WHERE x.state = 0) AS received, count(*) FILTER (WHERE x.state = 1) AS running,
           count(*) FILTER (WHERE x.state = 1 AND x.due_ms <= c.now_ms) AS stale,
           count(*) FILTER (WHERE x.state = 3) AS failed, min(x.received_ms) AS oldest
    FROM (SELECT w.state, w.due_ms, w.received_ms FROM {s}semel_work w
          WHERE w.consumer = k.consumer AND w.due_ms IS NOT NULL LIMIT $1::bigint) x
) d
CROSS JOIN LATERAL (
    SELECT (SELECT count(*) FROM (SELECT FROM {s}semel_work w
                WHERE w.consumer = k.consumer AND w.due_ms IS NULL AND w.state = 0 LIMIT $1::bigint) x) AS received,
           (SELECT count(*) FROM (SELECT FROM {s}semel_work w
                WHERE w.consumer = k.consumer AND w.due_ms IS NULL AND w.state = 4 LIMIT $1::bigint) x) AS terminal,
           (SELECT count(*) FROM (SELECT FROM {s}semel_work w
                WHERE w.consumer = k.consumer AND w.due_ms IS NULL AND w.state = 5 LIMIT $1::bigint) x) AS parked,
           (SELECT count(*) FROM (SELECT FROM {s}semel_work w
                WHERE w.consumer = k.consumer AND w.due_ms IS NULL AND w.state = 6 LIMIT $1::bigint) x) AS skipped,
           (SELECT w.received_ms FROM {s}semel_work w
            WHERE w.consumer = k.consumer AND w.due_ms IS NULL AND w.state = 0
            ORDER BY w.number LIMIT 1) AS oldest
) still
ORDER BY k.consumer
