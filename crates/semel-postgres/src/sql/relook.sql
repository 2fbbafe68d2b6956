-- Looks again at what was open when it was followed. What is no longer open is forgotten, and its range learns when its retention
-- ends; a range that another process walks over at this moment learns it the next time. Rows are taken by their place, as in settle.sql.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
looked AS MATERIALIZED (
    SELECT o.ctid AS place, o.fence, o.digest, o.look_ms FROM {s}semel_open o WHERE o.look_ms <= (SELECT now_ms FROM clock)
    ORDER BY o.look_ms LIMIT $1::bigint FOR UPDATE SKIP LOCKED
),
judged AS MATERIALIZED (
    SELECT l.place, l.look_ms, r.state, r.lease_ms, r.expires_ms,
           (SELECT min(g.upto) FROM {s}semel_ranges g WHERE g.upto >= l.fence) AS upto
    FROM looked l LEFT JOIN LATERAL (
        SELECT x.state, x.lease_ms, x.expires_ms FROM {s}semel_records x
        WHERE x.digest = l.digest AND x.fence = l.fence OFFSET 0
    ) r ON true
),
ends AS MATERIALIZED (
    SELECT j.upto, min(j.expires_ms) AS ends_ms FROM judged j WHERE j.state >= 2 AND j.upto IS NOT NULL GROUP BY j.upto
),
held AS MATERIALIZED (
    SELECT e.upto, e.ends_ms, g.place FROM ends e
    CROSS JOIN LATERAL (SELECT x.ctid AS place FROM {s}semel_ranges x WHERE x.upto = e.upto FOR UPDATE SKIP LOCKED) g
),
lowered AS (
    UPDATE {s}semel_ranges g SET ends_ms = least(g.ends_ms, h.ends_ms), walk_ms = least(g.walk_ms, h.ends_ms + 1000)
    FROM held h WHERE g.ctid = h.place
),
later AS (
    UPDATE {s}semel_open o SET look_ms = l.look_ms FROM (
        SELECT j.place, j.look_ms AS looked_ms, CASE
            WHEN j.state = 1 THEN c.now_ms + 3600000
            -- It is about to be ended; what cannot be for a minute makes room for others.
            WHEN j.lease_ms > c.now_ms - 60000 THEN j.lease_ms
            ELSE c.now_ms + 10000
        END AS look_ms
        FROM judged j, clock c WHERE j.state < 2
    ) l WHERE o.ctid = l.place AND l.looked_ms <> l.look_ms
),
gone AS (
    DELETE FROM {s}semel_open o USING judged j
    WHERE o.ctid = j.place
      AND (j.state IS NULL OR j.state >= 2 AND (j.upto IS NULL OR EXISTS (SELECT FROM held h WHERE h.upto = j.upto)))
)
SELECT count(*) FROM looked
