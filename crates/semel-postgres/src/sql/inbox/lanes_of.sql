SELECT DISTINCT w.lane FROM {s}semel_work w WHERE w.digest = ANY ($1::uuid[]) AND w.lane IS NOT NULL
