-- What people are told about an operation besides its identity.
--   about     what was asked, in one line; null where the claimer did not say it
--   nonce     what the claimer called its claim; null where it did not
--   evidence  what the owner of an unknown outcome could still say
--   note      of an event: the evidence of what became unknown, the reason of what a person decided
ALTER TABLE semel_claims ADD COLUMN about TEXT;
ALTER TABLE semel_claims ADD COLUMN nonce INTEGER;
ALTER TABLE semel_leases ADD COLUMN evidence TEXT;
ALTER TABLE semel_archive ADD COLUMN about TEXT;
ALTER TABLE semel_history ADD COLUMN note TEXT;

DROP VIEW semel_records;
CREATE VIEW semel_records AS
SELECT c.tenant, c.scope || '@' || c.version AS scope, c.key, c.about,
       CASE
           WHEN o.fence IS NOT NULL THEN iif(o.flags & 1, 'failed', 'succeeded')
           WHEN l.cause IS NOT NULL THEN 'unknown'
           ELSE 'running'
       END AS state,
       l.evidence, c.fence, c.attempt,
       datetime(c.claimed_ms / 1000, 'unixepoch') AS claimed,
       datetime(l.until_ms / 1000, 'unixepoch') AS lease_until,
       datetime(o.settled_ms / 1000, 'unixepoch') AS settled,
       datetime(o.expires_ms / 1000, 'unixepoch') AS expires,
       o.status, coalesce(length(o.body), o.omitted_len) AS body_bytes
FROM semel_claims c
LEFT JOIN semel_leases l USING (fence)
LEFT JOIN semel_outcomes o USING (fence);
