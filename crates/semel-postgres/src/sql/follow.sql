-- Follows the claims at a distance, each once: notes those that are still open, and puts all of them into a range. It stops at the
-- first that is too young: a claim with a lower fence may be about to be committed.
WITH clock AS MATERIALIZED (SELECT {now} AS now_ms),
piece AS MATERIALIZED (
    SELECT r.fence, r.digest, r.state, r.lease_ms, r.expires_ms,
           abs(r.claimed_ms - (SELECT now_ms FROM clock)) < 10000 AS is_young
    FROM {s}semel_records r WHERE r.fence > {followed} ORDER BY r.fence LIMIT $1::bigint
),
old AS MATERIALIZED (
    SELECT p.* FROM piece p
    WHERE p.fence < coalesce((SELECT min(y.fence) FROM piece y WHERE y.is_young), 9223372036854775807)
),
noted AS (
    INSERT INTO {s}semel_open (fence, digest, look_ms)
    SELECT o.fence, o.digest, coalesce(o.lease_ms, c.now_ms) FROM old o, clock c WHERE o.state < 2
    ON CONFLICT DO NOTHING
),
new AS MATERIALIZED (
    SELECT max(o.fence) AS upto, count(*) AS records, c.now_ms, c.now_ms + $3::bigint AS again_ms,
           coalesce(min(o.expires_ms) FILTER (WHERE o.state >= 2), 1152921504606846976) AS ends_ms
    FROM old o, clock c GROUP BY c.now_ms
),
due AS MATERIALIZED (
    SELECT n.*, least(n.again_ms, n.ends_ms + greatest(n.ends_ms - n.now_ms, 0) / 8 + 1000) AS walk_ms FROM new n
),
last AS MATERIALIZED (
    SELECT g.upto, g.records FROM {s}semel_ranges g
    WHERE g.upto = (SELECT max(x.upto) FROM {s}semel_ranges x) FOR UPDATE SKIP LOCKED
),
extended AS (
    UPDATE {s}semel_ranges g
    SET upto = d.upto, ends_ms = least(g.ends_ms, d.ends_ms), walk_ms = least(g.walk_ms, d.walk_ms), made_ms = d.now_ms,
        records = g.records + d.records
    FROM due d WHERE g.upto = (SELECT l.upto FROM last l, due x WHERE l.records + x.records <= $2::bigint)
    RETURNING 1
),
added AS (
    INSERT INTO {s}semel_ranges (upto, ends_ms, walk_ms, made_ms, records)
    SELECT d.upto, d.ends_ms, d.walk_ms, d.now_ms, d.records FROM due d WHERE NOT EXISTS (SELECT FROM extended)
)
INSERT INTO {s}semel_meta (name, value) SELECT 'open_fence', d.upto FROM due d
ON CONFLICT (name) DO UPDATE SET value = excluded.value
RETURNING (SELECT d.records FROM due d)
