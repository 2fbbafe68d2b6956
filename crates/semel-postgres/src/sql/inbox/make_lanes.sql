INSERT INTO {s}semel_lanes (consumer, lane, forget_ms) SELECT $1::text, i.lane, {now} + $3::bigint FROM unnest($2::text[]) AS i (lane)
ON CONFLICT DO NOTHING
