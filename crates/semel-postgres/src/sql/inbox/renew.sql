-- A shorter term than what is left takes no time away. Rows are found by their digests, in one order, as they are when the lock is
-- theirs: a row that another transaction has just moved is not taken for lost. One that another transaction holds is
-- passed over and told apart from one that is lost: its claim is what it was.
WITH asked AS MATERIALIZED (SELECT i.digest, i.fence FROM unnest($1::uuid[], $2::bigint[]) AS i (digest, fence)),
held AS MATERIALIZED (
    SELECT w.digest, w.fence, w.state FROM {s}semel_work w
    WHERE w.digest = ANY ($1::uuid[]) ORDER BY w.digest FOR UPDATE SKIP LOCKED
),
renewed AS (
    UPDATE {s}semel_work w
    SET due_ms = greatest(w.due_ms, c.now_ms + $3::bigint)
    FROM (SELECT {now} AS now_ms) c, asked i, held h
    WHERE w.digest = i.digest AND h.digest = i.digest AND w.fence = i.fence AND w.state = 1
    RETURNING w.digest
)
SELECT i.digest, (SELECT count(*) FROM renewed r WHERE r.digest = i.digest),
       (SELECT count(*) FROM {s}semel_work w WHERE w.digest = i.digest AND w.fence = i.fence AND w.state = 1)
FROM asked i
