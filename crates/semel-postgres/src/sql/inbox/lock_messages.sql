-- Locks messages in the order of their digests, so that two transactions never wait for each other: what is completed has no work that
-- could be locked. Says what a transaction that was waited for has left of each, and whether its id was received again since.
SELECT m.digest, m.expires_ms, m.erased_ms IS NOT NULL,
       EXISTS (SELECT FROM {s}semel_messages n WHERE n.digest = m.digest AND n.number > m.number)
FROM (
    SELECT u.digest, u.expires_ms FROM unnest($1::uuid[], $2::bigint[]) AS u (digest, expires_ms) ORDER BY 1, 2
) i
CROSS JOIN LATERAL (
    SELECT x.digest, x.expires_ms, x.number, x.erased_ms FROM {s}semel_messages x
    WHERE x.digest = i.digest AND x.expires_ms = i.expires_ms FOR UPDATE
) m
