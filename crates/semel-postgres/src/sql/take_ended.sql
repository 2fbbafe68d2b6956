-- take.sql for a caller who wants everything deleted that has expired, however little that is.
SELECT g.upto, coalesce((SELECT max(x.upto) FROM {s}semel_ranges x WHERE x.upto < g.upto), -1), g.made_ms, g.records
FROM {s}semel_ranges g WHERE least(g.walk_ms, g.ends_ms) <= (SELECT {now}) ORDER BY g.upto LIMIT 1 FOR UPDATE OF g SKIP LOCKED
