-- A range whose time has come, and where it begins. No other process walks over it meanwhile.
SELECT g.upto, coalesce((SELECT max(x.upto) FROM {s}semel_ranges x WHERE x.upto < g.upto), -1), g.made_ms, g.records
FROM {s}semel_ranges g WHERE g.walk_ms <= (SELECT {now}) ORDER BY g.walk_ms LIMIT 1 FOR UPDATE OF g SKIP LOCKED
