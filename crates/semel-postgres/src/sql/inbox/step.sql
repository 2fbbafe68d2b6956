-- Remembers a step if the claim still holds. The first result stays; says whether the claim holds and the step is there.
WITH held AS (
    UPDATE {s}semel_work SET stepped = true
    WHERE digest = $1::uuid AND fence = $2::bigint AND state = 1
    RETURNING digest, expires_ms
),
there AS MATERIALIZED (
    SELECT count(*) AS count, count(*) FILTER (WHERE name = $3::text) AS same
    FROM {s}semel_steps WHERE digest = $1::uuid
),
done AS (
    INSERT INTO {s}semel_steps (digest, name, expires_ms, result)
    SELECT h.digest, $3::text, h.expires_ms, $4::bytea FROM held h, there t
    WHERE t.count < $5::bigint
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM done) + (SELECT same FROM there)
