SELECT at_ms, fence, event, detail, from_fence, fingerprint, flags, status, headers, body, omitted_len, omitted_digest, note
FROM {s}semel_history WHERE digest = $1::uuid ORDER BY id
