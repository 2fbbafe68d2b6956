-- A range that could not be walked over makes room for the others.
UPDATE {s}semel_ranges g SET walk_ms = {now} + 250 WHERE g.upto = $1::bigint
