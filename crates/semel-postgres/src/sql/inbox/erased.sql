-- Whether contents that arrived under an id were erased. An erasure that is under way is waited for, and one that comes later waits: what is
-- written down beside it would outlive it.
SELECT m.erased_ms IS NOT NULL FROM {s}semel_messages m WHERE m.digest = $1::uuid ORDER BY m.expires_ms FOR SHARE
