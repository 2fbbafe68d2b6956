-- What is known of a range after a walk. An empty one goes, and what lies before its end belongs to the next one from then on; one with few records
-- takes in the range before it, unless another process walks over that at this moment.
WITH before AS MATERIALIZED (
    SELECT g.* FROM {s}semel_ranges g
    WHERE g.upto = (SELECT max(x.upto) FROM {s}semel_ranges x WHERE x.upto < $1::bigint)
      AND $5::bigint > 0 AND g.records + $5::bigint <= $6::bigint
    FOR UPDATE SKIP LOCKED
),
gone AS (
    DELETE FROM {s}semel_ranges g WHERE g.upto = (SELECT b.upto FROM before b) OR g.upto = $1::bigint AND $5::bigint = 0
)
UPDATE {s}semel_ranges g
SET ends_ms = least($2::bigint, b.ends_ms), walk_ms = least($3::bigint, b.walk_ms), made_ms = greatest($4::bigint, b.made_ms),
    records = $5::bigint + coalesce(b.records, 0)
FROM (SELECT) one LEFT JOIN before b ON true
WHERE g.upto = $1::bigint AND $5::bigint > 0
