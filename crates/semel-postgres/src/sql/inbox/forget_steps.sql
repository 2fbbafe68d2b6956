DELETE FROM {s}semel_steps WHERE digest = ANY ($1::uuid[])
