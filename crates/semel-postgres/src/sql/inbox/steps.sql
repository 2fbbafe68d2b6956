SELECT digest, name, result FROM {s}semel_steps WHERE digest = ANY ($1::uuid[]) ORDER BY digest, id
