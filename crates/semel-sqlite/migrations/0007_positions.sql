-- How far each partition of a source has been received, and which reader may move that on. A source without partitions has the one
-- whose name is empty, as all had before.
--   position    null until something of the partition was received
--   epoch       grows by one whenever a reader takes the position; progress under an older epoch is refused
--   changed_ms  when the position or its owner last changed
-- A copy instead of a rename, which SQLite refuses if any view or trigger of the file, of ours or not, names a table that is missing.
CREATE TEMP TABLE semel_positions_before AS SELECT source, position, changed_ms FROM semel_positions;
DROP TABLE semel_positions;
CREATE TABLE semel_positions (
    source     TEXT NOT NULL,
    partition  TEXT NOT NULL,
    position   TEXT,
    epoch      INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    PRIMARY KEY (source, partition)
) WITHOUT ROWID;
INSERT INTO semel_positions (source, partition, position, epoch, changed_ms)
SELECT source, '', position, 0, changed_ms FROM temp.semel_positions_before;
DROP TABLE temp.semel_positions_before;
