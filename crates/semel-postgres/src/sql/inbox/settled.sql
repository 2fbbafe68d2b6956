-- Which of these are on record.
SELECT i.digest FROM unnest($1::uuid[]) AS i (digest)
CROSS JOIN LATERAL (
    SELECT FROM {s}semel_records r WHERE r.digest = i.digest AND r.state = 2 AND r.expires_ms > {now} OFFSET 0
) r
