-- {s} stands for the schema. How far each partition of a source has been received, and which reader may move that on. A source without
-- partitions has the one whose name is empty, as all had before. An earlier build that still runs cannot move a position any more.
--   position    null until something of the partition was received
--   epoch       grows by one whenever a reader takes the position; progress under an older epoch is refused
--   changed_ms  when the position or its owner last changed
ALTER TABLE {s}semel_positions
    ADD COLUMN partition text NOT NULL DEFAULT '', ADD COLUMN epoch bigint NOT NULL DEFAULT 0,
    ALTER COLUMN position DROP NOT NULL;
ALTER TABLE {s}semel_positions
    ALTER COLUMN partition DROP DEFAULT, ALTER COLUMN epoch DROP DEFAULT,
    DROP CONSTRAINT semel_positions_pkey, ADD PRIMARY KEY (source, partition);
