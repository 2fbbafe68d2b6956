-- Erases what messages hold. Their fingerprints, their places and who decided what stay. Why a message could not be read may quote it.
WITH messages AS (
    UPDATE {s}semel_messages m SET payload = ''::bytea, headers = NULL, erased_ms = $3::bigint
    FROM unnest($1::uuid[], $2::bigint[]) AS i (digest, expires_ms)
    WHERE m.digest = i.digest AND m.expires_ms = i.expires_ms
),
edits AS (DELETE FROM {s}semel_edits WHERE digest = ANY ($1::uuid[])),
steps AS (DELETE FROM {s}semel_steps WHERE digest = ANY ($1::uuid[])),
attempts AS (UPDATE {s}semel_attempts SET error = NULL, answer = NULL WHERE digest = ANY ($1::uuid[]))
UPDATE {s}semel_transitions SET detail = NULL WHERE digest = ANY ($1::uuid[]) AND cause = 'unreadable'
