-- Which of these have work, and of which message of their id.
SELECT w.digest, w.expires_ms FROM {s}semel_work w WHERE w.digest = ANY ($1::uuid[])
