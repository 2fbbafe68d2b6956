-- Fences of this store stay above all that were kept.
SELECT CASE WHEN f.last_value < $1::bigint THEN {s}semel_lift($1::bigint + 60000000) ELSE f.last_value END
FROM {s}semel_fence f
