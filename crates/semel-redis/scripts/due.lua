-- Says what a sweep would find in a bucket.
-- KEYS: running, expiring, histories
-- ARGV: history_keep_ms
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local ms = math.floor(us / 1000)
return {{us, 'due',
  redis.call('ZCOUNT', KEYS[1], '-inf', ms),
  redis.call('ZCOUNT', KEYS[2], '-inf', ms),
  redis.call('ZCOUNT', KEYS[3], '-inf', ms - ARGV[1])}}
