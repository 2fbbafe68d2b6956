-- Leases that have ended, among what was noted as open and is to be looked at, and among the oldest claims since. Rows are found as in settle.sql.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
noted AS MATERIALIZED (
    SELECT o.digest, o.fence FROM {s}semel_open o WHERE o.look_ms <= (SELECT now_ms FROM clock)
    ORDER BY o.look_ms LIMIT $1::bigint
),
young AS MATERIALIZED (
    SELECT x.digest, x.fence, x.state, x.lease_ms FROM {s}semel_records x
    WHERE x.fence > {followed} ORDER BY x.fence LIMIT $2::bigint
),
asked AS MATERIALIZED (
    SELECT a.at FROM (
        SELECT n.digest, n.fence FROM noted n
        UNION ALL SELECT y.digest, y.fence FROM young y WHERE y.state = 0 AND y.lease_ms <= (SELECT now_ms FROM clock)
    ) o
    CROSS JOIN LATERAL (SELECT x.ctid AS at FROM {s}semel_records x WHERE x.digest = o.digest AND x.fence = o.fence OFFSET 0) a
    LIMIT 2 * $1::bigint
)
SELECT {record} FROM asked a JOIN {s}semel_records r ON r.ctid = a.at
WHERE r.state = 0 AND r.lease_ms <= (SELECT now_ms FROM clock)
FOR UPDATE OF r SKIP LOCKED
