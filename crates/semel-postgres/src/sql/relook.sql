-- Looks again at what was open when it was followed. What is no longer open is forgotten, and its range learns when its retention
-- ends; a range that somebody walks over at this moment learns it the next time.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
looked AS MATERIALIZED (
    SELECT o.fence, o.digest FROM {s}semel_open o WHERE o.look_ms <= (SELECT now_ms FROM clock)
    ORDER BY o.look_ms LIMIT $1::bigint FOR UPDATE SKIP LOCKED
),
judged AS MATERIALIZED (
    SELECT l.fence, r.state, r.lease_ms, r.expires_ms,
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
    SELECT g.upto, e.ends_ms FROM ends e JOIN {s}semel_ranges g ON g.upto = e.upto FOR UPDATE OF g SKIP LOCKED
),
lowered AS (
    UPDATE {s}semel_ranges g SET ends_ms = least(g.ends_ms, h.ends_ms), walk_ms = least(g.walk_ms, h.ends_ms + 1000)
    FROM held h WHERE g.upto = h.upto
),
later AS (
    UPDATE {s}semel_open o SET look_ms = l.look_ms FROM (
        SELECT j.fence, CASE
            WHEN j.state = 1 THEN c.now_ms + 3600000
            -- It is about to be ended; what cannot be for a minute makes room for others.
            WHEN j.lease_ms > c.now_ms - 60000 THEN j.lease_ms
            ELSE c.now_ms + 10000
        END AS look_ms
        FROM judged j, clock c WHERE j.state < 2
    ) l WHERE o.fence = l.fence AND o.look_ms <> l.look_ms
),
gone AS (
    DELETE FROM {s}semel_open o USING judged j
    WHERE o.fence = j.fence
      AND (j.state IS NULL OR j.state >= 2 AND (j.upto IS NULL OR EXISTS (SELECT FROM held h WHERE h.upto = j.upto)))
)
SELECT count(*) FROM looked
