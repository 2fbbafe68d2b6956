-- One process at a time follows the claims of a schema.
SELECT pg_try_advisory_xact_lock(hashtextextended('semel sweep {schema}', 0))
