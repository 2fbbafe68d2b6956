-- Whether an attempt with this fence has ended in this state already: the answer may have been lost. And what a late
-- attempt is written down with.
SELECT EXISTS (SELECT FROM {s}semel_work w
               WHERE w.digest = $1::uuid AND w.fence = $2::bigint AND w.state = $3::bigint AND w.state <> 1)
       OR ($3::bigint = 2 AND (
           EXISTS (SELECT FROM {s}semel_records r
                   WHERE r.digest = $1::uuid AND r.fence = $2::bigint AND r.state = 2 AND r.nonce = 0)
           OR EXISTS (SELECT FROM {s}semel_transitions t
                      WHERE t.digest = $1::uuid AND t.fence = $2::bigint AND t.state = 2))),
       coalesce((SELECT w.expires_ms FROM {s}semel_work w WHERE w.digest = $1::uuid),
                (SELECT max(m.expires_ms) FROM {s}semel_messages m WHERE m.digest = $1::uuid)),
       (SELECT w.generation::bigint FROM {s}semel_work w WHERE w.digest = $1::uuid)
