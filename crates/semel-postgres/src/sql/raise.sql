-- Fences of this store stay above all that were kept. The lock keeps two of these apart, and the margin is more than
-- claims can draw between the look and the step.
WITH alone AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(hashtextextended('semel fences {schema}', 0))
), drawn AS MATERIALIZED (
    SELECT f.last_value FROM alone, {s}semel_fence f
)
SELECT CASE WHEN last_value < $1::bigint THEN setval('{s}semel_fence', $1::bigint + 60000000) ELSE last_value END
FROM drawn
