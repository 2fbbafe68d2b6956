-- The newest events of an identity stay; late outcomes are counted apart, so that nothing else pushes them out.
DELETE FROM {s}semel_history WHERE digest = $1::uuid AND (event = 'late-outcome') = ($2::bigint = 1) AND id <= (
    SELECT id FROM {s}semel_history WHERE digest = $1::uuid AND (event = 'late-outcome') = ($2::bigint = 1)
    ORDER BY id DESC OFFSET $3::bigint LIMIT 1
)
