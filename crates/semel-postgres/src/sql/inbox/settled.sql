-- Which of these are on record.
SELECT r.digest FROM unnest($1::uuid[]) AS i (digest)
JOIN {s}semel_records r ON r.digest = i.digest AND r.state = 2 AND r.expires_ms > {now}
