-- What operators made of messages that failed, beside what arrived: the newest one is what runs.
CREATE TABLE semel_edits (
    number  INTEGER NOT NULL,
    version INTEGER NOT NULL,
    at_ms   INTEGER NOT NULL,
    actor   TEXT NOT NULL,
    reason  TEXT,
    headers BLOB,
    payload BLOB NOT NULL,
    PRIMARY KEY (number, version)
);
