-- Settled records are counted while that is quick, and estimated by the planner's statistics beyond.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
open AS MATERIALIZED (
    SELECT r.state = 0 AND r.lease_ms > c.now_ms AS is_running, r.claimed_ms,
           CASE r.state WHEN 0 THEN r.lease_ms ELSE r.since_ms END AS since_ms
    FROM {open} o JOIN {s}semel_records r ON r.digest = o.digest AND r.fence = o.fence AND r.state < 2
    CROSS JOIN clock c
)
SELECT (SELECT count(*) FROM open WHERE is_running),
       (SELECT count(*) FROM open WHERE NOT is_running),
       CASE WHEN $1::bigint > (SELECT reltuples FROM pg_class WHERE oid = '{s}semel_records'::regclass)
            THEN (SELECT count(*) FROM {s}semel_records WHERE state = 2)
            ELSE (SELECT greatest(0, reltuples::bigint - (SELECT count(*) FROM open))
                  FROM pg_class WHERE oid = '{s}semel_records'::regclass)
       END,
       (SELECT count(*) FROM {s}semel_archive),
       (SELECT count(*) FROM {s}semel_history WHERE event = 'late-outcome'),
       (SELECT min(claimed_ms) FROM open WHERE is_running),
       (SELECT min(since_ms) FROM open WHERE NOT is_running),
       (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
        WHERE c.relnamespace = '{schema}'::regnamespace AND c.relname LIKE 'semel\_%' AND c.relkind = 'r'),
       (SELECT now_ms FROM clock)
