SELECT position FROM {s}semel_positions WHERE source = $1::text
