INSERT INTO {s}semel_history
    (digest, at_ms, fence, event, detail, from_fence, fingerprint, flags, status, headers, body, omitted_len, omitted_digest, note)
VALUES ($1::uuid, $2::bigint, $3::bigint, $4::text, $5::text, $6::bigint, $7::bytea,
        $8::bigint, $9::bigint, $10::bytea, $11::bytea, $12::bigint, $13::bytea, $14::text)
