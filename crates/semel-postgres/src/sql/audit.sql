SELECT at_ms, actor, verb, action, consumer, selection, changed, reason FROM {s}semel_audit ORDER BY id DESC LIMIT $1::bigint
