SELECT greatest(0, w.due_ms - {now}) FROM {s}semel_work w
WHERE w.consumer = $1::text AND w.due_ms IS NOT NULL ORDER BY w.due_ms LIMIT 1
