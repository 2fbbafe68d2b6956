-- Rows for which a lane is to be looked at: their time has come ($3 = 1 or 2), they wait for versions of a consumer that no longer goes
-- by them ($3 = 2), or they stand in a lane of a consumer that has none any more ($3 = 0).
SELECT x.digest, x.lane, x.tenant FROM (
    (SELECT w.digest, w.lane, w.tenant FROM {s}semel_work w
     WHERE $3::bigint > 0 AND w.consumer = $1::text AND w.deadline_ms <= (SELECT {now}) AND w.deadline_ms IS NOT NULL
       AND w.lane IS NOT NULL
     ORDER BY w.deadline_ms LIMIT $2::bigint)
    UNION
    (SELECT w.digest, w.lane, w.tenant FROM {s}semel_work w
     WHERE $3::bigint = 2 AND w.consumer = $1::text AND w.state = 5 AND w.cause IN ('gap', 'gap-expired')
       AND w.lane IS NOT NULL LIMIT $2::bigint)
    UNION
    (SELECT w.digest, w.lane, w.tenant FROM {s}semel_work w
     WHERE $3::bigint = 0 AND w.consumer = $1::text AND w.lane IS NOT NULL
     ORDER BY w.lane, w.tenant, w.sequence, w.number LIMIT $2::bigint)
) x LIMIT $2::bigint
