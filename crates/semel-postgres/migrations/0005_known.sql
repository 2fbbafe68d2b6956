-- {s} stands for the schema. What people are told about an operation besides its identity.
--   about     what was asked, in one line; null where the claimer did not say it
--   evidence  what the owner of an unknown outcome could still say
--   note      of an event: the evidence of what became unknown, the reason of what a person decided
-- A claim that the claimer named has that name as its nonce.
ALTER TABLE {s}semel_records ADD COLUMN about text, ADD COLUMN evidence text;
ALTER TABLE {s}semel_archive ADD COLUMN about text;
ALTER TABLE {s}semel_history ADD COLUMN note text;

DROP VIEW {s}semel_overview;
CREATE VIEW {s}semel_overview AS
SELECT tenant, scope || '@' || version AS scope, key, about,
       CASE state
           WHEN 0 THEN 'running'
           WHEN 1 THEN 'unknown'
           ELSE CASE WHEN flags & 1 = 1 THEN 'failed' ELSE 'succeeded' END
       END AS state,
       evidence, fence, attempt,
       to_timestamp(claimed_ms / 1000.0) AS claimed,
       to_timestamp(lease_ms / 1000.0) AS lease_until,
       to_timestamp(settled_ms / 1000.0) AS settled,
       to_timestamp(expires_ms / 1000.0) AS expires,
       status, coalesce(omitted_len, octet_length(body)) AS body_bytes
FROM {s}semel_records WHERE state <> 3;
