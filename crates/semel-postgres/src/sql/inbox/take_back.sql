DELETE FROM {s}semel_work WHERE digest = ANY ($1::uuid[])
