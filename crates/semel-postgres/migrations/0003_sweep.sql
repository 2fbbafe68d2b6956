-- {s} stands for the schema.

-- Raises the sequence of fences to `floor_us` if it is well below, and draws the next one. The lock keeps two of these apart; it goes
-- back at once, whatever the transaction does afterwards, because what the inner block locked goes with its rollback, while
-- a sequence is never rolled back. The margin is more than claims can draw between the look and the step.
CREATE FUNCTION {s}semel_lift(floor_us bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    drawn bigint;
BEGIN
    BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('semel fences {schema}', 0));
        IF (SELECT last_value FROM {s}semel_fence) < floor_us - 500000 THEN
            PERFORM setval('{s}semel_fence', floor_us);
        END IF;
        drawn := nextval('{s}semel_fence');
        RAISE EXCEPTION USING ERRCODE = 'SEM00';
    EXCEPTION WHEN SQLSTATE 'SEM00' THEN
        NULL;
    END;
    RETURN drawn;
END $$;

-- Draws a fence: the greater of the sequence and the server's time in microseconds. A server that was promoted without the last
-- numbers of the old one goes on above them, because its time has. The sequence may be a second behind, so that a busy
-- store raises it once a second and otherwise only counts.
CREATE FUNCTION {s}semel_draw() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    drawn bigint := nextval('{s}semel_fence');
    now_us bigint := date_part('epoch', clock_timestamp()) * 1000000;
BEGIN
    IF drawn < now_us - 1000000 THEN
        RETURN {s}semel_lift(now_us);
    END IF;
    RETURN drawn;
END $$;

-- When the sweep looks at it again: at the end of its lease, as far as that is known, and once in a while if it is unknown.
ALTER TABLE {s}semel_open ADD COLUMN look_ms bigint NOT NULL DEFAULT 0;
CREATE INDEX semel_open_by_look ON {s}semel_open (look_ms);

-- Expired records have no index, because an index on what a settle writes would make no settle a HOT update. Instead the records
-- that the sweep has followed are divided into ranges of fences, each from the one before it up to its own end.
--   ends_ms  no retention in it ends before this, as far as the sweep knows
--   walk_ms  when the sweep walks over it
--   made_ms  when its last records were followed: rows that commit late are looked for in longer and longer intervals
--   records  how many there were at the last look
CREATE TABLE {s}semel_ranges (
    upto    bigint PRIMARY KEY,
    ends_ms bigint NOT NULL,
    walk_ms bigint NOT NULL,
    made_ms bigint NOT NULL,
    records bigint NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX semel_ranges_by_walk ON {s}semel_ranges (walk_ms);

-- What was followed before there were ranges is one, which the walk divides.
INSERT INTO {s}semel_ranges (upto, ends_ms, walk_ms, made_ms, records)
SELECT value, 0, 0, 0, 0 FROM {s}semel_meta WHERE name = 'open_fence';
DELETE FROM {s}semel_meta WHERE name = 'sweep_fence';

-- Rows come and go as fast as claims do; the space of those that went is wanted soon.
ALTER TABLE {s}semel_records SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX semel_history_rest_by_time ON {s}semel_history_rest (at_ms);

-- When a lane in which nothing stands may be forgotten; null if what is done in it must be known for ever.
ALTER TABLE {s}semel_lanes ADD COLUMN forget_ms bigint;
UPDATE {s}semel_lanes SET forget_ms = 0 WHERE done IS NULL AND NOT stuck;
