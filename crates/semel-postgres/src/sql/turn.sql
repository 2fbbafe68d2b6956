-- One process at a time sweeps a schema; where the walk stands is known to all.
SELECT pg_try_advisory_xact_lock(hashtextextended('semel sweep {schema}', 0)),
       (SELECT value FROM {s}semel_meta WHERE name = 'sweep_fence')
