-- The messages themselves.
INSERT INTO {s}semel_messages
    (digest, expires_ms, number, received_ms, version, sequence, topic_offset, topic_partition, schema_version,
     tenant, scope, key, fingerprint, lane, kind, topic, headers, payload)
SELECT i.digest, $2::bigint, i.number, $1::bigint, $4::bigint, i.sequence, i.topic_offset, i.topic_partition,
       i.schema_version, i.tenant, $3::text, i.key, i.fingerprint, i.lane, i.kind, i.topic, i.headers, i.payload
FROM unnest(
    $5::uuid[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
    $11::text[], $12::text[], $13::bytea[], $14::text[], $15::text[], $16::text[], $17::bytea[], $18::bytea[]
) AS i (digest, number, sequence, topic_offset, topic_partition, schema_version,
        tenant, key, fingerprint, lane, kind, topic, headers, payload)
