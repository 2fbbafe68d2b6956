SELECT 1 FROM {s}semel_consumers k WHERE k.consumer = $1::text AND k.paused_ms IS NOT NULL
