SELECT {record}, {now} FROM {s}semel_records r WHERE r.digest = ANY ($1::uuid[])
