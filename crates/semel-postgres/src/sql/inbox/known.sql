-- What is known about messages: work that is still there, and records that suppress. Asked again after work was inserted:
-- an insert may have waited for a finish of the same message, whose record only a new statement sees.
SELECT i.digest, w.state, w.fingerprint, r.fingerprint
FROM unnest($1::uuid[]) AS i (digest)
LEFT JOIN {s}semel_work w ON w.digest = i.digest
LEFT JOIN {s}semel_records r ON r.digest = i.digest AND r.state = 2 AND r.expires_ms > {now}
WHERE w.digest IS NOT NULL OR r.digest IS NOT NULL
