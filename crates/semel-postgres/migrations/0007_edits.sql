-- {s} stands for the schema. What operators made of messages that failed, beside what arrived: the newest one is what runs. It goes with its
-- message, as attempts do.
CREATE TABLE {s}semel_edits (
    id         bigint PRIMARY KEY DEFAULT nextval('{s}semel_note'),
    digest     uuid NOT NULL,
    expires_ms bigint NOT NULL,
    at_ms      bigint NOT NULL,
    version    bigint NOT NULL,
    actor      text NOT NULL,
    reason     text,
    headers    bytea,
    payload    bytea NOT NULL
);
CREATE INDEX semel_edits_by_digest ON {s}semel_edits (digest, id);
CREATE INDEX semel_edits_by_end ON {s}semel_edits (expires_ms);
