-- The newest of a message stay.
DELETE FROM {s}semel_edits e WHERE e.digest = $1::uuid AND e.id <
    (SELECT x.id FROM {s}semel_edits x WHERE x.digest = $1::uuid ORDER BY x.id DESC OFFSET $2::bigint - 1 LIMIT 1)
