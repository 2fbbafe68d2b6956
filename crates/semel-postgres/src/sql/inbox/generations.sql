-- How often completed messages were replayed or retried before, and when they got the key that they have.
SELECT i.digest, coalesce(max(t.generation), 0), coalesce(max(t.key_generation), 0)
FROM unnest($1::uuid[], $2::bigint[]) AS i (digest, received_ms)
LEFT JOIN {s}semel_transitions t ON t.digest = i.digest AND t.at_ms >= i.received_ms
GROUP BY i.digest
