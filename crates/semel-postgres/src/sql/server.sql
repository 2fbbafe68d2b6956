SELECT current_setting('server_version', true),
       current_setting('fsync', true),
       current_setting('synchronous_commit', true),
       current_setting('full_page_writes', true),
       current_setting('synchronous_standby_names', true),
       current_setting('transaction_read_only', true),
       pg_is_in_recovery(),
       current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
