-- No month is dropped while messages are changed by hand: a replay refers to a message that no work referred to before.
SELECT pg_advisory_xact_lock_shared(hashtextextended('semel months {schema}', 0))::text
