INSERT INTO {s}semel_lanes (consumer, lane) SELECT $1::text, i.lane FROM unnest($2::text[]) AS i (lane)
ON CONFLICT DO NOTHING
