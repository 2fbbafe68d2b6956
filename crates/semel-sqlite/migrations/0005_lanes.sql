-- Lanes belong to a tenant, consumers can be paused, and a message knows when it was first tried.

ALTER TABLE semel_consumers ADD COLUMN paused_ms INTEGER;
ALTER TABLE semel_consumers ADD COLUMN paused_by TEXT;
ALTER TABLE semel_consumers ADD COLUMN paused_reason TEXT;

-- The beginning of the body that a handler failed with.
ALTER TABLE semel_attempts ADD COLUMN answer BLOB;

--   tenant          whose lane it stands in, if it stands in one
--   first_ms        when it was claimed for the first attempt that may have had an effect under its present key
--   key_generation  the generation in which an operator gave it a new key for its provider
ALTER TABLE semel_work ADD COLUMN tenant TEXT;
ALTER TABLE semel_work ADD COLUMN first_ms INTEGER;
ALTER TABLE semel_work ADD COLUMN key_generation INTEGER NOT NULL DEFAULT 0;
UPDATE semel_work SET
    tenant = CASE WHEN lane IS NOT NULL
             THEN (SELECT m.tenant FROM semel_messages m WHERE m.number = semel_work.number) END,
    first_ms = coalesce((SELECT min(a.began_ms) FROM semel_attempts a WHERE a.number = semel_work.number),
                        iif(attempts > 0, changed_ms, NULL));

UPDATE semel_work SET lane = NULL WHERE lane IS NOT NULL AND tenant IS NULL;
-- A replay keeps the key that an operator gave it.
ALTER TABLE semel_generations ADD COLUMN key_generation INTEGER NOT NULL DEFAULT 0;

DROP INDEX semel_work_lanes;
DROP INDEX semel_work_gaps;
CREATE INDEX semel_work_lanes ON semel_work (consumer, lane, tenant, sequence) WHERE lane IS NOT NULL;
CREATE INDEX semel_work_gaps ON semel_work (consumer, lane, tenant) WHERE cause IN ('gap', 'gap-expired');

-- How far a lane has come is not known by tenant. What it says holds for every tenant that has had messages in it, and, if none of
-- them is kept, for every tenant of the consumer: an old version must not look like a first one.
ALTER TABLE semel_lanes RENAME TO semel_lanes_before;
CREATE TABLE semel_lanes (
    consumer INTEGER NOT NULL,
    lane     TEXT NOT NULL,
    tenant   TEXT NOT NULL,
    done     INTEGER NOT NULL,
    PRIMARY KEY (consumer, lane, tenant)
) WITHOUT ROWID;
INSERT INTO semel_lanes (consumer, lane, tenant, done)
SELECT DISTINCT l.consumer, l.lane, m.tenant, l.done
FROM semel_lanes_before l JOIN semel_messages m ON m.consumer = l.consumer AND m.lane = l.lane;
INSERT OR IGNORE INTO semel_lanes (consumer, lane, tenant, done)
SELECT DISTINCT l.consumer, l.lane, t.tenant, l.done
FROM semel_lanes_before l
JOIN semel_consumers c ON c.consumer = l.consumer
JOIN (SELECT DISTINCT tenant, scope, version FROM semel_claims) t ON t.scope = c.scope AND t.version = c.version
WHERE NOT EXISTS (SELECT 1 FROM semel_messages m WHERE m.consumer = l.consumer AND m.lane = l.lane);
DROP TABLE semel_lanes_before;
