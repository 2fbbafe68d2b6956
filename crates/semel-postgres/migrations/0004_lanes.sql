-- {s} stands for the schema. Lanes belong to a tenant, consumers can be paused, and a message knows when it was first tried.

ALTER TABLE {s}semel_consumers ADD COLUMN paused_ms bigint, ADD COLUMN paused_by text, ADD COLUMN paused_reason text;

-- The generation in which an operator gave the message a new key for its provider; a replay keeps that key.
ALTER TABLE {s}semel_transitions ADD COLUMN key_generation integer NOT NULL DEFAULT 0;

-- The beginning of the body that a handler failed with.
ALTER TABLE {s}semel_attempts ADD COLUMN answer bytea;

--   first_ms        when it was claimed for the first attempt that may have had an effect under its present key
--   nonce           which call claimed it: a call whose answer was lost finds its own again
--   key_generation  the generation in which an operator gave it a new key for its provider
--   rebuild         whether it may also run at or below its lane's done
--   tenant          whose lane it stands in, if it stands in one; its sequence there is -1 where arrival decides
ALTER TABLE {s}semel_work
    ADD COLUMN first_ms bigint, ADD COLUMN nonce bigint, ADD COLUMN key_generation integer NOT NULL DEFAULT 0,
    ADD COLUMN rebuild boolean NOT NULL DEFAULT false, ADD COLUMN tenant text;
UPDATE {s}semel_work w SET
    tenant = (SELECT m.tenant FROM {s}semel_messages m WHERE m.digest = w.digest AND m.expires_ms = w.expires_ms),
    sequence = coalesce(w.sequence, -1)
WHERE w.lane IS NOT NULL;
UPDATE {s}semel_work SET lane = NULL, sequence = NULL WHERE lane IS NOT NULL AND tenant IS NULL;
UPDATE {s}semel_work w SET
    first_ms = coalesce((SELECT min(a.began_ms) FROM {s}semel_attempts a WHERE a.digest = w.digest), w.changed_ms)
WHERE w.attempts > 0;

DROP INDEX {s}semel_work_lanes, {s}semel_work_gaps, {s}semel_work_deadlines;
CREATE INDEX semel_work_lanes ON {s}semel_work (consumer, lane, tenant, sequence, number) WHERE lane IS NOT NULL;
CREATE INDEX semel_work_gaps ON {s}semel_work (consumer, lane, tenant) WHERE state = 5 AND cause IN ('gap', 'gap-expired');
CREATE INDEX semel_work_deadlines ON {s}semel_work (consumer, deadline_ms) WHERE deadline_ms IS NOT NULL AND lane IS NOT NULL;
-- What was passed over before its turn stands in its lane without a deadline; its retention is counted from when it leaves.
UPDATE {s}semel_work SET deadline_ms = NULL WHERE state = 6 AND lane IS NOT NULL;

-- How far a lane has come is not known by tenant. What it says holds for every tenant that has had messages in it, and, if none of
-- them is kept, for every tenant of the consumer: an old version must not look like a first one.
ALTER TABLE {s}semel_lanes RENAME TO semel_lanes_before;
ALTER TABLE {s}semel_lanes_before RENAME CONSTRAINT semel_lanes_pkey TO semel_lanes_before_pkey;
CREATE TABLE {s}semel_lanes (
    consumer  text NOT NULL,
    lane      text NOT NULL,
    tenant    text NOT NULL,
    done      bigint,
    forget_ms bigint,
    PRIMARY KEY (consumer, lane, tenant)
) WITH (fillfactor = 70);
INSERT INTO {s}semel_lanes (consumer, lane, tenant, done, forget_ms)
SELECT DISTINCT l.consumer, l.lane, m.tenant, l.done, l.forget_ms
FROM {s}semel_lanes_before l
JOIN {s}semel_consumers k ON k.consumer = l.consumer
JOIN {s}semel_messages m ON m.scope = k.scope AND m.version = k.version AND m.lane = l.lane;
INSERT INTO {s}semel_lanes (consumer, lane, tenant, done, forget_ms)
SELECT l.consumer, l.lane, t.tenant, l.done, l.forget_ms
FROM {s}semel_lanes_before l JOIN {s}semel_tenants t ON t.consumer = l.consumer
WHERE NOT EXISTS (SELECT FROM {s}semel_lanes n WHERE n.consumer = l.consumer AND n.lane = l.lane);
DROP TABLE {s}semel_lanes_before;
