-- Where messages stand: work that is there, or a record that is settled.
SELECT i.digest, coalesce(w.state, 2) FROM unnest($1::uuid[]) AS i (digest)
LEFT JOIN LATERAL (SELECT w.state FROM {s}semel_work w WHERE w.digest = i.digest OFFSET 0) w ON true
LEFT JOIN LATERAL (
    SELECT r.digest FROM {s}semel_records r
    WHERE r.digest = i.digest AND r.state = 2 AND r.expires_ms > {now} OFFSET 0
) r ON true
WHERE w.state IS NOT NULL OR r.digest IS NOT NULL
