-- Records, archived ones and late outcomes are counted while that is quick, and beyond $1 estimated by the planner's statistics, where there are any.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
open AS MATERIALIZED (
    SELECT r.state = 0 AND r.lease_ms > c.now_ms AS is_running, r.claimed_ms,
           CASE r.state WHEN 0 THEN r.lease_ms ELSE r.since_ms END AS since_ms
    FROM {open} o JOIN {s}semel_records r ON r.digest = o.digest AND r.fence = o.fence AND r.state < 2
    CROSS JOIN clock c
),
planned AS MATERIALIZED (
    SELECT (SELECT reltuples::bigint FROM pg_class WHERE oid = '{s}semel_records'::regclass) AS records,
           (SELECT sum(greatest(c.reltuples, 0))::bigint FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = '{s}semel_archive'::regclass) AS archived
)
SELECT (SELECT count(*) FROM open WHERE is_running),
       (SELECT count(*) FROM open WHERE NOT is_running),
       CASE WHEN $1::bigint > p.records
            THEN (SELECT count(*) FROM (SELECT FROM {s}semel_records WHERE state = 2 LIMIT $1::bigint) x)
            ELSE greatest(0, p.records - (SELECT count(*) FROM open))
       END,
       CASE WHEN $1::bigint > p.archived
            THEN (SELECT count(*) FROM (SELECT FROM {s}semel_archive LIMIT $1::bigint) x)
            ELSE p.archived
       END,
       (SELECT count(*) FROM (SELECT FROM {s}semel_history WHERE event = 'late-outcome' LIMIT $1::bigint) x),
       (SELECT min(claimed_ms) FROM open WHERE is_running),
       (SELECT min(since_ms) FROM open WHERE NOT is_running),
       (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
        WHERE c.relnamespace = '{schema}'::regnamespace AND c.relname LIKE 'semel\_%' AND c.relkind = 'r'),
       (SELECT now_ms FROM clock)
FROM planned p
