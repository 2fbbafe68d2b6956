-- For outcomes of claims that another store granted: only claims of this fence or higher may
-- keep one. A row appears when a claim is taken over, and goes when old events do.
CREATE TABLE semel_bars (
    digest BLOB PRIMARY KEY,
    fence  INTEGER NOT NULL,
    at_ms  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX semel_bars_by_age ON semel_bars (at_ms);
