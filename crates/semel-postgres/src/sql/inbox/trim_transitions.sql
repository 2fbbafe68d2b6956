-- The newest of each message stay.
DELETE FROM {s}semel_transitions a
USING (
    SELECT i.digest, (
        SELECT x.id FROM {s}semel_transitions x WHERE x.digest = i.digest ORDER BY x.id DESC OFFSET $2::bigint - 1 LIMIT 1
    ) AS oldest
    FROM unnest($1::uuid[]) AS i (digest)
) k
WHERE a.digest = k.digest AND a.id < k.oldest
