SELECT pg_notify($1::text, i.consumer) FROM unnest($2::text[]) AS i (consumer)
