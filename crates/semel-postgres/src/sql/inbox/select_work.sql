-- Messages that are not completed, the oldest first.
SELECT x.* FROM (
    (SELECT {selected}, false AS is_gone
     FROM {s}semel_work w JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms
     WHERE w.consumer = $1::text AND w.due_ms IS NULL AND w.state = ANY ($2::bigint[])
       AND ($3::text IS NULL OR m.lane = $3::text)
       AND ($4::text IS NULL OR w.cause = $4::text)
       AND ($5::bigint IS NULL OR w.received_ms >= $5::bigint)
       AND ($6::bigint IS NULL OR w.received_ms < $6::bigint)
       AND ($7::text IS NULL OR m.tenant = $7::text)
       AND ($9::bigint = 0 OR m.erased_ms IS NULL)
       AND ($10::bigint IS NULL OR w.changed_ms <= $10::bigint)
     ORDER BY w.number LIMIT $8::bigint)
    UNION ALL
    (SELECT {selected}, false
     FROM {s}semel_work w JOIN {s}semel_messages m ON m.digest = w.digest AND m.expires_ms = w.expires_ms
     WHERE w.consumer = $1::text AND w.due_ms IS NOT NULL AND w.state = ANY ($2::bigint[])
       AND ($3::text IS NULL OR m.lane = $3::text)
       AND ($4::text IS NULL OR w.cause = $4::text)
       AND ($5::bigint IS NULL OR w.received_ms >= $5::bigint)
       AND ($6::bigint IS NULL OR w.received_ms < $6::bigint)
       AND ($7::text IS NULL OR m.tenant = $7::text)
       AND ($9::bigint = 0 OR m.erased_ms IS NULL)
       AND ($10::bigint IS NULL OR w.changed_ms <= $10::bigint)
     ORDER BY w.number LIMIT $8::bigint)
) x
ORDER BY x.number LIMIT $8::bigint
